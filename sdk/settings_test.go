package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

type testTLS struct {
	CA       string `twg:"ca,required" doc:"a PEM file"`
	Insecure bool   `twg:"insecure"`
	Depth    int    `twg:"depth" default:"3"`
}

type testRule struct {
	Match string        `twg:"match,required"`
	After time.Duration `twg:"after" default:"1s"`
}

type testSettings struct {
	Brokers  []string          `twg:"brokers,required" doc:"host:port of each broker." validate:"min=1"`
	DSN      string            `twg:"dsn,sensitive"`
	Start    string            `twg:"start" default:"latest" validate:"oneof=earliest|latest"`
	Linger   time.Duration     `twg:"linger" default:"10s" validate:"min=0s,max=1h"`
	Chunk    ByteSize          `twg:"chunk" default:"64MiB" validate:"min=1KiB"`
	Rows     int               `twg:"rows" default:"50000" validate:"min=1"`
	Small    int8              `twg:"small"`
	Unsigned uint16            `twg:"unsigned"`
	Ratio    float64           `twg:"ratio" default:"0.5"`
	On       bool              `twg:"on" default:"true"`
	Labels   map[string]string `twg:"labels"`
	Ports    []int             `twg:"ports" default:"[1,2]"`
	Kinds    []string          `twg:"kinds" validate:"oneof=a|b"`
	TLS      *testTLS          `twg:"tls"`
	Inner    testTLS           `twg:"inner"`
	Rules    []testRule        `twg:"rules"`
	Untagged chan int
}

func defaults() testSettings {
	return testSettings{
		Brokers: []string{"b"}, Start: "latest", Linger: 10 * time.Second, Chunk: 64 << 20, Rows: 50000,
		Ratio: 0.5, On: true, Ports: []int{1, 2}, Inner: testTLS{Depth: 3},
	}
}

func TestDecode(t *testing.T) {
	for name, c := range map[string]struct {
		json string
		want func(*testSettings)
	}{
		"defaults":       {`{"brokers":["b"]}`, func(*testSettings) {}},
		"null is absent": {`{"brokers":["b"],"start":null,"tls":null,"rows":null}`, func(*testSettings) {}},
		"scalars": {
			`{"brokers":["b"],"dsn":"x","start":"earliest","linger":"1m30s","rows":7,"small":-128,"unsigned":65535,"ratio":2,"on":false}`,
			func(s *testSettings) {
				s.DSN, s.Start, s.Linger, s.Rows, s.Small, s.Unsigned, s.Ratio, s.On = "x", "earliest", 90*time.Second, 7, -128, 65535, 2, false
			},
		},
		"size as text":   {`{"brokers":["b"],"chunk":"2KiB"}`, func(s *testSettings) { s.Chunk = 2048 }},
		"size as number": {`{"brokers":["b"],"chunk":4096}`, func(s *testSettings) { s.Chunk = 4096 }},
		"whole numbers in other writings": {
			`{"brokers":["b"],"rows":1e3,"unsigned":5.0}`, func(s *testSettings) { s.Rows, s.Unsigned = 1000, 5 },
		},
		"collections": {
			`{"brokers":["a","b"],"labels":{"x":"y"},"ports":[],"kinds":["a","b","a"]}`,
			func(s *testSettings) {
				s.Brokers, s.Labels, s.Ports, s.Kinds = []string{"a", "b"}, map[string]string{"x": "y"}, []int{}, []string{"a", "b", "a"}
			},
		},
		"structs": {
			`{"brokers":["b"],"tls":{"ca":"f"},"inner":{"ca":"g","depth":1},"rules":[{"match":"m"},{"match":"n","after":"5s"}]}`,
			func(s *testSettings) {
				s.TLS, s.Inner = &testTLS{CA: "f", Depth: 3}, testTLS{CA: "g", Depth: 1}
				s.Rules = []testRule{{"m", time.Second}, {"n", 5 * time.Second}}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got testSettings
			if d := NewSettings([]byte(c.json)).Decode(&got); len(d) != 0 {
				t.Fatal(d)
			}
			want := defaults()
			c.want(&want)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("decoded\n%+v, want\n%+v", got, want)
			}
		})
	}
}

// problem is what a test expects of one diagnostic.
func problems(ds Diagnostics) (out []string) {
	for _, d := range ds {
		out = append(out, strings.Join(d.Path, ".")+": "+d.Summary+": "+d.Detail)
	}
	return out
}

func TestDecodeReports(t *testing.T) {
	for _, c := range []struct{ json, want string }{
		{``, `brokers: Missing setting: "brokers" must be set: host:port of each broker.`},
		{`{`, `: Settings cannot be read: They are not JSON. The host sends one JSON object.`},
		{`null`, `: Wrong type: The settings must be an object.`},
		{`[]`, `: Wrong type: The settings must be an object.`},
		{`{"broker":["b"],"brokers":["b"]}`, `broker: Unknown setting: There is no setting "broker" here. Did you mean "brokers"?`},
		{`{"brokers":["b"],"inner":{"ca":"f","x":1}}`, `inner.x: Unknown setting: There is no setting "x" here. There are: ca, insecure, depth.`},
		{`{"brokers":[]}`, `brokers: Empty: "brokers" must not be empty.`},
		{`{"brokers":"b"}`, `brokers: Wrong type: "brokers" must be a list; each element: a string.`},
		{`{"brokers":["b",null]}`, `brokers.1: Wrong type: "brokers.1" must be a string.`},
		{`{"brokers":["b"],"start":"now"}`, `start: Value not allowed: "start" must be one of: earliest, latest.`},
		{`{"brokers":["b"],"kinds":["a","c"]}`, `kinds.1: Value not allowed: "kinds.1" must be one of: a, b.`},
		{`{"brokers":["b"],"linger":"10"}`, `linger: Bad duration: Write numbers with units, such as "500ms", "10s" or "1m30s".`},
		{`{"brokers":["b"],"linger":10}`, `linger: Wrong type: "linger" must be a duration, such as "10s".`},
		{`{"brokers":["b"],"linger":"2h"}`, `linger: Too large: "linger" must be at most 1h.`},
		{`{"brokers":["b"],"chunk":"10 parsec"}`, `chunk: Bad size: A size is a whole number and a unit, such as "64MiB" or "1GB", or a number of bytes.`},
		{`{"brokers":["b"],"chunk":true}`, `chunk: Wrong type: "chunk" must be a size, such as "64MiB".`},
		{`{"brokers":["b"],"chunk":"1B"}`, `chunk: Too small: "chunk" must be at least 1KiB.`},
		{`{"brokers":["b"],"rows":0}`, `rows: Too small: "rows" must be at least 1.`},
		{`{"brokers":["b"],"rows":"7"}`, `rows: Wrong type: "rows" must be a number.`},
		{`{"brokers":["b"],"rows":1.5}`, `rows: Number out of range: Write a whole number from -9223372036854775808 to 9223372036854775807.`},
		{`{"brokers":["b"],"rows":1e999999999}`, `rows: Number out of range: Write a whole number from -9223372036854775808 to 9223372036854775807.`},
		{`{"brokers":["b"],"small":128}`, `small: Number out of range: Write a whole number from -128 to 127.`},
		{`{"brokers":["b"],"unsigned":-1}`, `unsigned: Number out of range: Write a whole number from 0 to 65535.`},
		{`{"brokers":["b"],"ratio":1e999}`, `ratio: Number out of range: Write a number that a float of 64 bits can hold.`},
		{`{"brokers":["b"],"on":1}`, `on: Wrong type: "on" must be true or false.`},
		{`{"brokers":["b"],"labels":{"k":1}}`, `labels.k: Wrong type: "labels.k" must be a string.`},
		{`{"brokers":["b"],"tls":{}}`, `tls.ca: Missing setting: "tls.ca" must be set: a PEM file.`},
		{`{"brokers":["b"],"rules":[{"match":"m"},{}]}`, `rules.1.match: Missing setting: "rules.1.match" must be set.`},
		{`{"brokers":["b"],"rules":[5]}`, `rules.0: Wrong type: "rules.0" must be an object.`},
	} {
		var s testSettings
		ds := NewSettings([]byte(c.json)).Decode(&s)
		if got := problems(ds); len(got) != 1 || got[0] != c.want || !ds.HasErrors() {
			t.Errorf("%s\n got %q\nwant %q", c.json, got, c.want)
		}
	}
}

func TestDecodeReportsAllAtOnce(t *testing.T) {
	var s testSettings
	ds := NewSettings([]byte(`{"strat":"x","linger":"soon","rows":"many","tls":{"insecure":5},"rules":[{"after":1}]}`)).Decode(&s)
	var paths []string
	for _, d := range ds {
		paths = append(paths, strings.Join(d.Path, "."))
	}
	want := "strat brokers linger rows tls.ca tls.insecure rules.0.match rules.0.after"
	if got := strings.Join(paths, " "); got != want {
		t.Errorf("reported %s, want %s", got, want)
	}
}

func TestNoValueIsShown(t *testing.T) {
	const secret = "hunter2"
	for _, text := range []string{
		`{"dsn":["hunter2"]}`, `{"start":"hunter2"}`, `{"linger":"hunter2"}`, `{"chunk":"hunter2"}`,
		`{"rows":"hunter2"}`, `{"on":"hunter2"}`, `{"kinds":["hunter2"]}`, `{"tls":"hunter2"}`, `"hunter2"`, `hunter2`,
	} {
		var s testSettings
		settings := NewSettings([]byte(text))
		ds := settings.Decode(&s)
		if shown := fmt.Sprintf("%v %+v %#v %s", ds, settings, settings, settings); !ds.HasErrors() || strings.Contains(shown, secret) {
			t.Errorf("%s: %s", text, shown)
		}
	}
}

func TestSchemaOf(t *testing.T) {
	got := map[string]Attribute{}
	var order []string
	for _, a := range SchemaOf(&testSettings{}) {
		got[a.Name] = a
		order = append(order, a.Name)
		if !json.Valid([]byte(a.Type)) || a.Default != "" && !json.Valid([]byte(a.Default)) {
			t.Errorf("%+v is not JSON", a)
		}
	}
	for _, want := range []Attribute{
		{Name: "brokers", Type: `["list","string"]`, Required: true, Doc: "host:port of each broker."},
		{Name: "dsn", Type: `"string"`, Sensitive: true},
		{Name: "linger", Type: `"string"`, Default: `"10s"`},
		{Name: "chunk", Type: `"string"`, Default: `"64MiB"`},
		{Name: "rows", Type: `"number"`, Default: `50000`},
		{Name: "on", Type: `"bool"`, Default: `true`},
		{Name: "labels", Type: `["map","string"]`},
		{Name: "ports", Type: `["list","number"]`, Default: `[1,2]`},
		{Name: "tls", Type: `["object",{"ca":"string","insecure":"bool","depth":"number"},["insecure","depth"]]`},
		{Name: "rules", Type: `["list",["object",{"match":"string","after":"string"},["after"]]]`},
	} {
		if got[want.Name] != want {
			t.Errorf("schema has %+v, want %+v", got[want.Name], want)
		}
	}
	if order[0] != "brokers" || order[len(order)-1] != "rules" || len(order) != 16 {
		t.Errorf("order %v", order)
	}
}

func TestASecretInsideMakesTheWholeSensitive(t *testing.T) {
	type login struct {
		Password string `twg:"password,sensitive"`
	}
	type settings struct {
		Logins []login `twg:"logins"`
	}
	if a := SchemaOf(settings{}); !a[0].Sensitive {
		t.Error("a list of structs with a secret is shown")
	}
}

type recursive struct {
	Inner []recursive `twg:"inner"`
}

// wrongStructs by a word of the panic.
var wrongStructs = map[string]any{
	"takes a struct": 5,
	"exported field": struct {
		a int `twg:"a"`
	}{},
	"a name": struct {
		A int `twg:""`
	}{},
	`option "secret"`: struct {
		A int `twg:"a,secret"`
	}{},
	"cannot have type chan int": struct {
		A chan int `twg:"a"`
	}{},
	"cannot have type map[int]int": struct {
		A map[int]int `twg:"a"`
	}{},
	`another setting "a"`: struct {
		A int `twg:"a"`
		B int `twg:"a"`
	}{},
	`default "x"`: struct {
		A int `twg:"a" default:"x"`
	}{},
	`default ""`: struct {
		A int `twg:"a" default:""`
	}{},
	`default "5 years"`: struct {
		A time.Duration `twg:"a" default:"5 years"`
	}{},
	`default "c": "a" must`: struct {
		A string `twg:"a" default:"c" validate:"oneof=a|b"`
	}{},
	"no use for a default": struct {
		A int `twg:"a,required" default:"5"`
	}{},
	`rule "least=5"`: struct {
		A int `twg:"a" validate:"least=5"`
	}{},
	`rule "min=x"`: struct {
		A int `twg:"a" validate:"min=x"`
	}{},
	`rule "max=1"`: struct {
		A bool `twg:"a" validate:"max=1"`
	}{},
	`rule "oneof=1|2"`: struct {
		A int `twg:"a" validate:"oneof=1|2"`
	}{},
	"no field with a twg tag": struct {
		A struct{} `twg:"a"`
	}{},
	"more than 10 deep": recursive{},
}

func TestWrongStructsPanic(t *testing.T) {
	for want, v := range wrongStructs {
		t.Run(want, func(t *testing.T) {
			defer func() {
				if r := fmt.Sprint(recover()); !strings.Contains(r, want) {
					t.Errorf("panic %q", r)
				}
			}()
			SchemaOf(v)
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `null`, `{"brokers":["b"],"linger":"10s","chunk":5,"tls":{"ca":"x"},"rules":[{"match":"m"}]}`,
		`{"rows":1e400,"small":-0,"unsigned":18446744073709551616,"labels":{"":""}}`, `{"chunk":"9223372036854775807TiB"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var s testSettings
		if ds := NewSettings(text).Decode(&s); ds.HasErrors() {
			return
		}
		if len(s.Brokers) == 0 || s.Rows < 1 || s.Linger < 0 || s.Chunk < 1024 || s.TLS != nil && s.TLS.CA == "" && !strings.Contains(string(text), `"ca"`) {
			t.Errorf("%q was decoded as %+v", text, s)
		}
	})
}
