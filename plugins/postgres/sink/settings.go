package sink

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/plugins/postgres/pgdial"
	"github.com/twg-io/twg/plugins/postgres/rawtable"
	"github.com/twg-io/twg/sdk"
)

// Settings are the sink's config block.
type Settings struct {
	DSN              string        `twg:"dsn,required,sensitive" doc:"where the database is: a URL, or key=value pairs" validate:"min=1"`
	Table            string        `twg:"table,required" doc:"table that gets the rows, or schema.table; written as it is stored, without quotes" validate:"min=1"`
	CreateTable      bool          `twg:"create_table" default:"true" doc:"make the table if it is missing"`
	StoreSchema      string        `twg:"store_schema" default:"_twg" doc:"schema of the tables for coverage, cursors and epochs; made if it is missing" validate:"min=1,max=63"`
	Connections      int           `twg:"connections" default:"1" doc:"connections that write at the same time; a stream keeps to one" validate:"min=1,max=64"`
	MaxTxRows        int           `twg:"max_tx_rows" default:"10000" doc:"batches that wait are joined into one transaction up to this number of rows" validate:"min=1"`
	MaxTxBytes       sdk.ByteSize  `twg:"max_tx_bytes" default:"8MiB" doc:"and up to this size of their frames" validate:"min=1KiB"`
	Linger           time.Duration `twg:"linger" default:"5ms" doc:"how long a transaction that is not full waits for more" validate:"min=0s,max=10s"`
	StatementTimeout time.Duration `twg:"statement_timeout" default:"5m" doc:"the server ends a statement that takes longer, and it is tried again; 0s: never" validate:"min=0s"`
	ConnectTimeout   time.Duration `twg:"connect_timeout" default:"5s" doc:"bounds one attempt to connect" validate:"min=10ms"`
	MaxBackoff       time.Duration `twg:"max_backoff" default:"2s" doc:"attempts to connect follow each other after pauses that grow up to this" validate:"min=50ms"`
	ConnectPatience  time.Duration `twg:"connect_patience" default:"15s" doc:"after this long without a connection the session fails, and the host opens another one" validate:"min=0s"`
}

// capabilities are what the sink can do with any valid settings.
func (s Settings) capabilities(dial *pgdial.Dialer, name pgx.Identifier) sdk.Capabilities {
	return sdk.Capabilities{
		Durable:     true,
		Replayable:  true,
		OffsetStore: true,
		Fencing:     true,
		Idempotent:  true,
		Shapes:      []sdk.Shape{sdk.ShapeRaw},
		Targets:     []string{"table " + s.Table + " at " + dial.Target()},

		CanonicalTargets: canonical(dial, name),
		Memory:           s.memory(),
	}
}

// canonical is the table at each server that the DSN leads to.
func canonical(dial *pgdial.Dialer, name pgx.Identifier) []string {
	if len(name) == 1 {
		name = pgx.Identifier{dial.DefaultSchema(), name[0]}
	}
	out := dial.Canonical()
	for i := range out {
		out[i] = "table " + name.Sanitize() + " at postgres " + out[i]
	}
	return out
}

func (s Settings) dialOptions() pgdial.Options {
	return pgdial.Options{ConnectTimeout: s.ConnectTimeout, MaxBackoff: s.MaxBackoff, Patience: s.ConnectPatience, StatementTimeout: s.StatementTimeout}
}

// Configure implements sdk.Plugin. It opens no connection.
func (s *Sink) Configure(in sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	var set Settings
	diags := in.Decode(&set)
	if diags.HasErrors() {
		return sdk.Capabilities{}, diags
	}
	dial, err := pgdial.New(set.DSN, set.dialOptions())
	if err != nil {
		diags.Errorf("dsn", "The DSN cannot be read", "As it is, "+err.Error()+".")
	}
	name, err := rawtable.ParseName(set.Table)
	if err != nil {
		diags.Errorf("table", "Not a table's name", "Here one has to "+err.Error()+".")
	}
	if strings.ContainsAny(set.StoreSchema, "\"\x00") {
		diags.Errorf("store_schema", "Not a schema's name", "Write it without quotes.")
	}
	if diags.HasErrors() {
		return sdk.Capabilities{}, diags
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg = &config{set, dial, name}
	return set.capabilities(dial, name), diags
}
