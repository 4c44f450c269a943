package sdk

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
// once.
func (s Settings) Decode(into any) Diagnostics { panic("sdk: not written yet") }

// SchemaOf derives the settings schema from a struct (or a pointer to one).
func SchemaOf(v any) []Attribute { panic("sdk: not written yet") }
