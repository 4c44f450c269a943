package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const examples = "../../../examples/monitoring/"

var metricName = regexp.MustCompile(`\btwg_[a-z_]+`)

// exists reports whether a name in a query is that of a metric, or of one of a
// histogram's series.
func exists(name string) bool {
	return slices.ContainsFunc(all(), func(m metric) bool {
		if m.kind != histogram {
			return m.name == name
		}
		series, ok := strings.CutPrefix(name, m.name)
		return ok && slices.Contains([]string{"_bucket", "_sum", "_count"}, series)
	})
}

// labelsOf are the labels that a query may ask a metric for.
func labelsOf(name string) []string {
	for _, m := range all() {
		if m.name == name || m.kind == histogram && strings.HasPrefix(name, m.name+"_") {
			return append(slices.Clone(m.labels), "le", "instance", "job", "alertname")
		}
	}
	return nil
}

// panel is what the test looks at of one.
type panel struct {
	ID          int    `json:"id"`
	Type        string `json:"type"`
	Title       string `json:"title"`
	Description string `json:"description"`
	GridPos     struct{ H, W, X, Y int }
	Targets     []struct{ Expr, LegendFormat string }
}

func dashboard(t *testing.T) []panel {
	t.Helper()
	text, err := os.ReadFile(examples + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d struct{ Panels []panel }
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	for _, name := range metricName.FindAllString(string(text), -1) {
		if !exists(name) {
			t.Errorf("the dashboard has %s, which does not exist", name)
		}
	}
	return d.Panels
}

var (
	inLegend = regexp.MustCompile(`{{(\w+)}}`)
	selector = regexp.MustCompile(`(twg_[a-z_]+)\{([^}]*)\}`)
	grouping = regexp.MustCompile(`\b(?:by|on|without|ignoring|group_left) ?\(([^)]+)\)`)
	matcher  = regexp.MustCompile(`(\w+)(?:=~|!~|!=|=)"`)
)

// The dashboard asks for metrics and labels that exist, and its panels do not
// cover each other.
func TestDashboard(t *testing.T) {
	ids, taken := map[int]bool{}, map[[2]int]string{}
	queries := 0
	for _, p := range dashboard(t) {
		if ids[p.ID] {
			t.Errorf("%s: its id %d is used twice", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%q lies over %q, or outside", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type != "row" && (len(p.Targets) == 0 || p.Description == "") {
			t.Errorf("%q has no query, or no description", p.Title)
		}
		for _, q := range p.Targets {
			queries++
			checkLabels(t, p.Title, q.Expr, q.LegendFormat)
		}
	}
	if queries < 20 {
		t.Errorf("%d queries: the test looks at nothing", queries)
	}
}

func checkLabels(t *testing.T, title, expr, legend string) {
	t.Helper()
	expr = strings.ReplaceAll(expr, `\"`, `"`)
	for _, m := range selector.FindAllStringSubmatch(expr, -1) {
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(labelsOf(m[1]), l[1]) {
				t.Errorf("%q: %s has no label %q", title, m[1], l[1])
			}
		}
	}
	names := metricName.FindAllString(expr, -1)
	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		for l := range strings.SplitSeq(m[1], ",") {
			if !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(labelsOf(n), strings.TrimSpace(l)) }) {
				t.Errorf("%q: no metric of %s has the label %q", title, expr, l)
			}
		}
	}
	for _, l := range inLegend.FindAllStringSubmatch(legend, -1) {
		if !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(labelsOf(n), l[1]) }) {
			t.Errorf("%q: no metric of %s has the label %q", title, expr, l[1])
		}
	}
}

// The alerts ask for metrics and labels that exist. Whether they fire when they
// should is for promtool: test/monitoring.
func TestAlerts(t *testing.T) {
	for _, file := range []string{"alerts.yml", "alerts_test.yml"} {
		text, err := os.ReadFile(examples + file)
		if err != nil {
			t.Fatal(err)
		}
		names := metricName.FindAllString(string(text), -1)
		if len(names) < 10 {
			t.Errorf("%s: %d names: the test looks at nothing", file, len(names))
		}
		for _, name := range names {
			if !exists(name) {
				t.Errorf("%s has %s, which does not exist", file, name)
			}
		}
		checkLabels(t, file, string(text), "")
	}
}

// Each alert is one that the test of the rules wants to fire.
func TestAlertsAreTested(t *testing.T) {
	rules, err := os.ReadFile(examples + "alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile(examples + "alerts_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	alerts := regexp.MustCompile(`(?m)- alert: (\w+)$`).FindAllStringSubmatch(string(rules), -1)
	if len(alerts) == 0 {
		t.Fatal("no alert")
	}
	for _, a := range alerts {
		if !strings.Contains(string(tests), `{labels: '{alertname="`+a[1]+`"}', value: 1}`) {
			t.Errorf("no test wants %s to fire", a[1])
		}
		if !strings.Contains(string(tests), "alertname: "+a[1]+",") {
			t.Errorf("no test wants %s not to fire", a[1])
		}
	}
}
