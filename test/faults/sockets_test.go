package main

import (
	"net"
	"os"
	"testing"

	"github.com/twg-io/twg/test/faults/control"
)

func TestClientOfFindsTheProcess(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	served, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	self, other := control.Process{PID: os.Getpid()}, control.Process{PID: 1}
	if got := clientOf(served.RemoteAddr(), []control.Process{other, self}); got != self.PID {
		t.Errorf("process %d, want %d", got, self.PID)
	}
	if got := clientOf(served.RemoteAddr(), []control.Process{other}); got != 0 {
		t.Errorf("process %d has it", got)
	}
	if got := clientOf(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}, []control.Process{self}); got != 0 {
		t.Errorf("process %d has an end that nobody has", got)
	}
}
