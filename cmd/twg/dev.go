package main

type devCmd struct{}
