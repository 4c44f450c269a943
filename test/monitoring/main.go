// Command monitoring writes the queries of a dashboard as recording rules, so
// that promtool can check them: monitoring DASHBOARD > RULES.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: monitoring DASHBOARD")
		os.Exit(2)
	}
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = write(os.Stdout, text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "monitoring:", err)
		os.Exit(1)
	}
}

// variables are what Grafana puts into queries.
var variables = strings.NewReplacer("$__rate_interval", "1m", "$pipeline", ".*")

// write makes a rule of each query. JSON is YAML, too.
func write(w io.Writer, dashboard []byte) error {
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(dashboard, &d); err != nil {
		return fmt.Errorf("read the dashboard: %w", err)
	}
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	rules := []rule{}
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			rules = append(rules, rule{fmt.Sprintf("query:%d", len(rules)), variables.Replace(t.Expr)})
		}
	}
	group := map[string]any{"name": "dashboard", "rules": rules}
	return json.NewEncoder(w).Encode(map[string]any{"groups": []any{group}})
}
