package sdk

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Settings are what stands in a pipeline file's config block, as one JSON
// object. Decode puts them into a struct.
type Settings struct{ json []byte }

// NewSettings wraps a JSON object.
func NewSettings(json []byte) Settings { return Settings{json} }

// JSON is the object itself. It may hold secrets.
func (s Settings) JSON() []byte { return s.json }

// String hides the settings: they may hold secrets.
func (s Settings) String() string { return "(settings)" }

// GoString hides the settings: they may hold secrets.
func (s Settings) GoString() string { return "sdk.Settings{…}" }

// Decode fills the struct that into points to and returns every problem at
// once. A field takes part if it has a twg tag:
//
//	Brokers []string      `twg:"brokers,required" doc:"host:port of each broker" validate:"min=1"`
//	DSN     string        `twg:"dsn,required,sensitive" doc:"where the database is"`
//	Linger  time.Duration `twg:"linger" default:"10s" validate:"min=0s,max=1h"`
//	Chunk   ByteSize      `twg:"chunk" default:"64MiB"`
//	Start   string        `twg:"start" default:"latest" validate:"oneof=earliest|latest"`
//	TLS     *TLS          `twg:"tls" doc:"nil where it is absent"`
//
// Types are string, bool, integers, floats, [time.Duration], [ByteSize],
// slices, maps with string keys, structs with twg tags of their own, and
// pointers to these. A default is written as in a file; that of a list, a map
// or a struct is JSON. The rules min and max bound a number, a duration, a
// size, or the length of a string, list or map; oneof lists the strings that
// are allowed, of a list's elements too.
//
// A setting that the struct does not have is an error. So is null in a list
// or a map; elsewhere null is the same as absent. A field whose setting is
// absent and has no default keeps what it holds. If there are errors, the
// struct must not be used. No diagnostic holds a setting's value.
//
// Decode panics where the struct's tags are wrong, as [SchemaOf] does.
func (s Settings) Decode(into any) Diagnostics {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("sdk: Decode into %T; it takes a pointer to a struct", into))
	}
	text := s.json
	if len(text) == 0 {
		text = []byte("{}")
	}
	var d settingsDecoder
	if !json.Valid(text) {
		d.errorf(nil, "Settings cannot be read", "They are not JSON. The host sends one JSON object.")
		return d.diags
	}
	d.object(nil, text, v.Elem())
	return d.diags
}
