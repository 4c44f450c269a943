package source

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/plugintest"
)

const goodSettings = `{"brokers":["127.0.0.1:9092"],"topics":["orders"],"group":"g"%s}`

func TestConfigure(t *testing.T) {
	src := New(nil)
	caps, diags := src.Configure(sdk.NewSettings(fmt.Appendf(nil, goodSettings, "")))
	if len(diags) != 0 || caps.Position != sdk.PositionBroker || caps.Origin != sdk.OriginReplayable {
		t.Errorf("capabilities %+v, diagnostics %v", caps, diags)
	}
	named := New(nil)
	caps, diags = named.Configure(sdk.NewSettings([]byte(`{"brokers":["a:1"],"topics":["t"],"partitions":["0-1"]}`)))
	if len(diags) != 0 || caps.Position != sdk.PositionStore || caps.Origin != sdk.OriginReplayable {
		t.Errorf("with partitions: capabilities %+v, diagnostics %v", caps, diags)
	}
	set := src.set.Load()
	if set.Start != "earliest" || set.FetchMaxBytes != 4<<20 || set.TLS != nil || set.SASL != nil {
		t.Errorf("defaults are %+v", set)
	}
}

func TestDiagnostics(t *testing.T) {
	for _, c := range []struct {
		name, settings string
		paths          string // of all diagnostics
		warning        bool
	}{
		{"nothing", `{}`, "brokers topics", false},
		{"no position", `{"brokers":["a:1"],"topics":["t"]}`, "group", false},
		{"two positions", fmt.Sprintf(goodSettings, `,"partitions":["0"]`), "partitions", false},
		{"balancers", fmt.Sprintf(goodSettings, `,"balancers":["range","eager","range"]`), "balancers.1", false},
		{"balancers twice", fmt.Sprintf(goodSettings, `,"balancers":["range","sticky","range"]`), "balancers.2", false},
		{"no balancer", fmt.Sprintf(goodSettings, `,"balancers":[]`), "balancers", false},
		{"balancers of the brokers'", fmt.Sprintf(goodSettings, `,"group_protocol":"consumer","balancers":["range"]`), "balancers", false},
		{"partitions", `{"brokers":["a:1"],"topics":["t"],"partitions":["0-1","x","1","3-2"]}`, "partitions.1 partitions.2 partitions.3", false},
		{"no partition", `{"brokers":["a:1"],"topics":["t"],"partitions":[]}`, "partitions", false},
		{"latest of all", `{"brokers":["a:1"],"topics":["t"],"partitions":["all"],"start":"latest"}`, "start", false},
		{"empty lists", `{"brokers":[],"topics":[],"group":""}`, "brokers group topics", false},
		{"addresses", `{"brokers":["a:1","b","c:0","d:x",":9",  "http://e:9"],"topics":["t"],"group":"g"}`, "brokers.1 brokers.2 brokers.3 brokers.4 brokers.5", false},
		{"topics", `{"brokers":["a:1"],"topics":["t","","t","a b",".."],"group":"g"}`, "topics.1 topics.2 topics.3 topics.4", false},
		{"unknown setting", fmt.Sprintf(goodSettings, `,"brokr":1`), "brokr", false},
		{"start", fmt.Sprintf(goodSettings, `,"start":"newest"`), "start", false},
		{"times", fmt.Sprintf(goodSettings, `,"session_timeout":"5s","heartbeat_interval":"3s","revoke_timeout":"1m"`), "heartbeat_interval revoke_timeout", false},
		{"tls", fmt.Sprintf(goodSettings, `,"tls":{"ca":"nonsense"}`), "tls", false},
		{"half a pair", fmt.Sprintf(goodSettings, `,"tls":{"cert":"c"}`), "tls", false},
		{"sasl", fmt.Sprintf(goodSettings, `,"sasl":{"mechanism":"none","user":"u"}`), "sasl.mechanism sasl.password", false},
		{"password in the clear", fmt.Sprintf(goodSettings, `,"sasl":{"mechanism":"plain","user":"u","password":"hush"}`), "sasl.mechanism", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, diags := New(nil).Configure(sdk.NewSettings([]byte(c.settings)))
			var paths []string
			for _, d := range diags {
				paths = append(paths, strings.Join(d.Path, "."))
				if d.Summary == "" || d.Detail == "" || strings.Contains(d.Summary+d.Detail, "hush") {
					t.Errorf("diagnostic %+v says too little or too much", d)
				}
			}
			slices.Sort(paths)
			if got := strings.Join(paths, " "); got != c.paths {
				t.Errorf("diagnostics at %q, want %q: %+v", got, c.paths, diags)
			}
			if diags.HasErrors() == c.warning {
				t.Errorf("has errors: %t", diags.HasErrors())
			}
		})
	}
}

func TestOpenWithoutConfigure(t *testing.T) {
	if _, err := New(nil).Open(t.Context(), newHost(t)); sdk.KindOf(err) != sdk.KindFatal {
		t.Errorf("open before configure: %v, want it fatal", err)
	}
}

func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/plugins/kafka-source.md")
	if err != nil {
		t.Fatal(err)
	}
	plugintest.Documented(t, string(page), slices.Concat(New(nil).Describe().Schema, sdk.SchemaOf(TLS{}), sdk.SchemaOf(SASL{})))
}

func TestMetadata(t *testing.T) {
	m := metadata{Incarnation: "0b1c", Parts: 3}
	if got := m.String(); got != `{"twg":1,"inc":"0b1c","parts":3}` {
		t.Errorf("metadata is written as %s", got)
	}
	if got := parseMetadata(m.String()); got.Incarnation != "0b1c" || got.Parts != 3 {
		t.Errorf("read back as %+v", got)
	}
}

// FuzzMetadata: what another program left beside an offset is no harm.
func FuzzMetadata(f *testing.F) {
	for _, s := range []string{"", "{}", `{"twg":1,"inc":"x","parts":2}`, `{"twg":2,"inc":"x"}`, `{"twg":1,"parts":-1}`, "consumer-7", `[`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m := parseMetadata(s)
		if m.Parts < 0 || m.Version != 1 && m != (metadata{}) {
			t.Fatalf("%q became %+v", s, m)
		}
		if m.Version == 1 && parseMetadata(m.String()).Parts != m.Parts {
			t.Fatalf("%q does not survive: %s", s, m)
		}
	})
}
