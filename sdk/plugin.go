package sdk

// Plugin is what sources and sinks have in common.
type Plugin interface {
	// Describe says what the plugin is. It must not do I/O.
	Describe() Description
	// Configure takes settings and says what the plugin can do with them. It
	// opens no connection and reads no record, so that a pipeline file can be
	// checked where the service is out of reach. Errors are diagnostics.
	Configure(Settings) (Capabilities, Diagnostics)
}

// PluginKind tells sources from sinks.
type PluginKind uint8

const (
	KindSource PluginKind = iota + 1
	KindSink
)

func (k PluginKind) String() string {
	if k == KindSource {
		return "source"
	}
	return "sink"
}

// Description is a plugin's name, version, kind and settings schema.
type Description struct {
	// Name is the file's name without "twg-plugin-".
	Name    string
	Version string
	Kind    PluginKind
	Doc     string
	Schema  []Attribute
}

// Attribute describes one setting. SchemaOf derives it from a struct.
type Attribute struct {
	Name string
	// Type is a cty type in JSON: "string", "number", "bool",
	// ["list","string"], ["map","string"], ["object",{...}].
	Type     string
	Required bool
	// Default is the value that is used when the setting is absent, as JSON;
	// empty: none.
	Default   string
	Sensitive bool
	Doc       string
}

// Shape is what a sink wants to be given.
type Shape string

const (
	// ShapeRaw: frames, as the source sent them.
	ShapeRaw Shape = "raw"
	// ShapeTable: typed, decoded Arrow batches.
	ShapeTable Shape = "table"
)

// PositionRegime says who keeps a source's position.
type PositionRegime string

const (
	// PositionBroker: the source's own server does.
	PositionBroker PositionRegime = "broker"
	// PositionStore: the offset store of the gating sink does.
	PositionStore PositionRegime = "store"
)

// Origin says whether what a source has delivered can be had again.
type Origin string

const (
	OriginReplayable    Origin = "replayable"
	OriginResumable     Origin = "resumable"
	OriginNonReplayable Origin = "non_replayable"
)

// Capabilities are what a plugin can do *with the settings it was given*. The
// first four fields are a source's, the others a sink's.
type Capabilities struct {
	Position PositionRegime
	Origin   Origin
	// Topics are the topics that the settings name. Empty: they name none, or
	// only a pattern, and what will be read is known later.
	Topics []string
	// Shares are what is shared out among all who name the same, such as a topic
	// within a consumer group: each gets a part. For people, and to be compared.
	Shares []string
	// Renames: a Start may give a stream another name (Start.KnownAs). Without
	// it a stream that has got an incarnation, or whose log was cut and filled
	// anew, cannot go on.
	Renames bool

	// Durable: a receipt means stable storage, surviving loss of power.
	Durable bool
	// DurableFlush, of a sink that is not Durable: it answers with Written, and
	// Session.Flushed says what is on stable storage. Its session ends (Fail)
	// when its target may have lost what was not flushed.
	DurableFlush bool
	// Replayable: what was written can be read back (Replayer).
	Replayable bool
	// OffsetStore: coverage and cursors are kept (OffsetStore).
	OffsetStore bool
	// Fencing: the epoch is checked in the transaction of the data.
	Fencing bool
	// Idempotent: rows that are written again are there once.
	Idempotent bool
	// AppendOnly: rows that are written again are there twice.
	AppendOnly bool
	Shapes     []Shape
	// MaxBatchBytes bounds one batch's frame; zero: the transport's limit.
	MaxBatchBytes int64
	// HoldsUntilClose: receipts come when a file, not a batch, is complete;
	// the host must send Flush to get them earlier.
	HoldsUntilClose bool
	// Targets are what the sink writes to, for people: "directory ./out".
	Targets []string
	// CanonicalTargets are the same, each by one name however the settings
	// spell it, so that two sinks that write to one target can be told. None:
	// Targets are compared.
	CanonicalTargets []string

	// Memory is what the process takes at most. Zero: not said, and the host
	// assumes something.
	Memory Memory
}

// FlushesLater reports that receipts of such a sink promise nothing, and that
// coverage follows Session.Flushed.
func (c Capabilities) FlushesLater() bool { return !c.Durable && c.DurableFlush }

// Severity of a Diagnostic.
type Severity uint8

const (
	SeverityError Severity = iota + 1
	SeverityWarning
)

// Diagnostic is one problem with a setting. Summary is terse and holds no
// value of a setting; Detail says what to do. No secret may stand in either.
type Diagnostic struct {
	Severity Severity
	// Path leads to the setting: {"brokers", "0"}. Empty: the whole.
	Path    []string
	Summary string
	Detail  string
}

// Diagnostics are all problems at once.
type Diagnostics []Diagnostic

// HasErrors reports whether any diagnostic is an error.
func (d Diagnostics) HasErrors() bool {
	for _, x := range d {
		if x.Severity == SeverityError {
			return true
		}
	}
	return false
}

// Errorf appends an error about the setting at path.
func (d *Diagnostics) Errorf(path, summary, detail string) {
	x := Diagnostic{Severity: SeverityError, Summary: summary, Detail: detail}
	if path != "" {
		x.Path = []string{path}
	}
	*d = append(*d, x)
}
