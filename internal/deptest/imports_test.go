package deptest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

const root = "../.."

var source = sync.OnceValues(func() ([]*file, error) { return load(root) })

func loadModule(t *testing.T) []*file {
	t.Helper()
	files, err := source()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 40 {
		t.Fatalf("only %d files were found", len(files))
	}
	return files
}

func TestImports(t *testing.T) {
	for _, b := range breaches(loadModule(t)) {
		t.Errorf("%s imports %s: %s", b.file, b.imp, b.why)
	}
}

// TestRulesBite feeds each rule an import that it must refuse and one beside
// it that is right.
func TestRulesBite(t *testing.T) {
	for _, c := range []struct {
		file, imp string
		want      string // a word of the reason; empty: allowed
	}{
		{"sdk/x.go", "github.com/zeebo/xxh3", "author"},
		{"sdk/frame/x.go", module + "/sdk/serve", "author"},
		{"sdk/x.go", module + "/sdk/frame", ""},
		{"sdk/x.go", "encoding/json", ""},
		{"sdk/serve/x.go", module + "/host/ackgate", "drags"},
		{"sdk/serve/x.go", module + "/internal/wire", ""},
		{"sdk/plugintest/x.go", module + "/host/plugins", ""},
		{"sdk/plugintest/x.go", module + "/host/pipeline", "what decides"},
		{"plugins/parquet/x.go", module + "/sdk/plugintest", "only tests"},
		{"plugins/parquet/x_test.go", module + "/sdk/plugintest", ""},
		{"test/faults/x.go", module + "/test/hostproc", "for tests"},
		{"plugins/parquet/x.go", module + "/host/recordid", "stranger"},
		{"plugins/parquet/x.go", module + "/plugins/kafka-source/source", "stranger"},
		{"plugins/parquet/sink/x.go", module + "/plugins/parquet/disk", ""},
		{"plugins/parquet/x.go", module + "/internal/wire", "stranger"},
		{"plugins/parquet/x.go", module + "/internal/faultpoint", ""},
		{"host/plugins/x.go", module + "/internal/twgpb", "generated"},
		{"internal/wire/x.go", module + "/internal/twgpb", ""},
		{"host/pipeline/x.go", module + "/internal/wire", "transport"},
		{"cmd/twg/x.go", "github.com/hashicorp/go-plugin", "transport"},
		{"host/plugins/x.go", "github.com/hashicorp/go-plugin", ""},
		{"host/pipeline/x.go", "google.golang.org/grpc", "carrier"},
		{"host/ackgate/x.go", module + "/host/recordid", "each other"},
		{"host/config/x.go", module + "/host/pipeline", "each other"},
		{"host/pipeline/x.go", module + "/host/ackgate", ""},
		{"host/pipeline/x.go", module + "/host/config", "receives"},
		{"host/ackgate/x.go", "os", "decides"},
		{"host/ackgate/x.go", "net/http", "decides"},
		{"host/ackgate/x.go", "io", "decides"},
		{"host/flow/x.go", "os", "machines"},
		{"host/flow/x.go", "time", ""},
		{"host/flow/x.go", module + "/host/memory", "each other"},
		{"host/plugins/x.go", "github.com/hashicorp/hcl/v2/hclsyntax", "language"},
		{"cmd/twg/x.go", "github.com/hashicorp/hcl/v2", ""},
		{"host/pipeline/x.go", "github.com/twmb/franz-go/pkg/kgo", "drivers"},
		{"plugins/kafka-source/x.go", "github.com/twmb/franz-go/pkg/kgo", ""},
		{"internal/wire/x.go", "github.com/twmb/franz-go/pkg/kfake", "drivers"},
		{"internal/devkafka/x.go", "github.com/twmb/franz-go/pkg/kfake", ""},
		{"host/pipeline/x.go", module + "/internal/devkafka", "trying twg out"},
		{"examples/sink/x.go", module + "/internal/wire", "anybody"},
		{"host/pipeline/x.go", module + "/bench/yardstick", "harnesses"},
		{"host/pipeline/x.go", module + "/cmd/twg", "end of the line"},
		{"host/pipeline/x.go", "testing", "tests"},
		{"host/pipeline/x_test.go", "testing", ""},
	} {
		f, err := parse(c.file, fmt.Appendf(nil, "package x\nimport %q\n", c.imp))
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(breaches([]*file{f}))
		if c.want == "" && got != "[]" || !strings.Contains(got, c.want) {
			t.Errorf("%s imports %s: %s, want %q", c.file, c.imp, got, c.want)
		}
	}
}
