package serve

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/twg-io/twg/sdk"
)

// byHand tells a person who ran a plugin what it is.
func byHand(w io.Writer, p sdk.Plugin) {
	d := p.Describe()
	fmt.Fprintf(w, "%s %s (%s)\n", d.Name, d.Version, d.Kind)
	if d.Doc != "" {
		fmt.Fprintln(w, d.Doc)
	}
	fmt.Fprintf(w, "\nThis is a twg plugin; put it into the plugin directory and let twg run it.\n"+
		"Its file must be named twg-plugin-%s. --describe prints its settings as JSON.\n", d.Name)
}

// describe prints the description as JSON and returns the exit code.
func describe(w io.Writer, p sdk.Plugin) int {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if e.Encode(p.Describe()) != nil {
		return 1
	}
	return 0
}
