package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// source is what a panel and a query say of where the data are.
type source struct{ Type, UID string }

// importable is what Grafana's import looks at.
type importable struct {
	ID            *int   // of a database; null or none in a file
	UID, Title    string // in addresses and lists
	SchemaVersion int
	Inputs        []any `json:"__inputs"`
	Templating    struct {
		List []struct{ Name, Type, Query string }
	}
	Panels []struct {
		ID         int
		Type       string
		Title      string
		Datasource source
		GridPos    struct{ H, W, X, Y int }
		Targets    []struct {
			RefID      string
			Expr       string
			Datasource source
		}
	}
}

func readDashboard(t *testing.T) (importable, string) {
	t.Helper()
	text, err := os.ReadFile(examples + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d importable
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d, string(text)
}

var (
	panelTypes = []string{"row", "stat", "table", "timeseries", "state-timeline"}
	builtIn    = []string{"__rate_interval", "__interval", "__range", "__all"}
	variable   = regexp.MustCompile(`\$\{?(\w+)`)
)

// The dashboard has what an import of Grafana wants: an address, a schema that
// it knows, a choice of the data source that every panel and query uses, and
// variables that are there.
func TestDashboardImports(t *testing.T) {
	d, text := readDashboard(t)
	if d.UID == "" || len(d.UID) > 40 || d.Title == "" || d.ID != nil || d.Inputs != nil || d.SchemaVersion < 36 || d.SchemaVersion > 41 {
		t.Errorf("uid %q, title %q, id %v, inputs %v, schemaVersion %d", d.UID, d.Title, d.ID, d.Inputs, d.SchemaVersion)
	}
	defined := slices.Clone(builtIn)
	chosen := false
	for _, v := range d.Templating.List {
		defined = append(defined, v.Name)
		chosen = chosen || v.Name == "datasource" && v.Type == "datasource" && v.Query == "prometheus"
	}
	if !chosen {
		t.Error("there is no choice of the data source")
	}
	for _, m := range variable.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(defined, m[1]) {
			t.Errorf("the variable %s is not defined", m[0])
		}
	}
	want := source{"prometheus", "${datasource}"}
	for _, p := range d.Panels {
		g := p.GridPos
		if p.ID <= 0 || !slices.Contains(panelTypes, p.Type) || g.H <= 0 || g.W <= 0 || g.X < 0 || g.Y < 0 || p.Type != "row" && p.Datasource != want {
			t.Errorf("panel %q: %+v", p.Title, p)
		}
		refs := map[string]bool{}
		for _, q := range p.Targets {
			if q.RefID == "" || refs[q.RefID] || q.Datasource != want || q.Expr == "" {
				t.Errorf("panel %q: query %+v", p.Title, q)
			}
			refs[q.RefID] = true
		}
	}
}

// The dashboard shows all that flow control, the gate and secondaries tell.
func TestDashboardIsComplete(t *testing.T) {
	_, text := readDashboard(t)
	shown := metricName.FindAllString(text, -1)
	rows := slices.Concat(heads(flowRows), heads(laneRows), []metric{backpressure, stuckLevel, notReady, live, ready})
	elsewhere := []string{ // the table of why a host is not ready, twg top, and alerts tell these
		"twg_lane_open", "twg_lane_buffered_bytes", "twg_lane_shed_batches_total", "twg_lane_restarts_total",
		"twg_recovery_backlog_windows", "twg_recovery_unclaimed_windows", "twg_recovery_unrecoverable_positions",
	}
	for _, m := range rows {
		if !slices.ContainsFunc(shown, func(n string) bool { return n == m.name || strings.HasPrefix(n, m.name+"_") }) && !slices.Contains(elsewhere, m.name) {
			t.Errorf("no panel shows %s", m.name)
		}
	}
}
