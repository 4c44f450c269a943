// Command twg moves records from sources to durable sinks, as pipeline files
// say. Each subcommand has a file of its own name.
package main

import (
	"os"
)

func main() {
	limitResources()
	os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, newLauncher, newRecoverer))
}
