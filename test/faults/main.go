// Command faults kills twg's processes at seeded moments and checks that
// nothing was lost, doubled or committed too early.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "broker" {
		if err := brokerMain(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
}
