package main

type pluginsCmd struct {
	List pluginsListCmd `cmd:"" help:"List the plugin programs."`
	Lock pluginsLockCmd `cmd:"" help:"Pin the plugin programs by SHA-256: a changed one is refused from then on."`
}

type pluginsListCmd struct {
	JSON bool `help:"Print JSON."`
}

type pluginsLockCmd struct{}
