package deptest

import "strings"

// rule forbids imports, with the reason. Paths of the module begin with "./".
type rule struct {
	why string
	// about: the packages whose code, tests apart, the rule is about.
	about func(pkg string) bool
	// banned: what they may not import.
	banned func(pkg, imp string) bool
}

var rules = []rule{
	{
		"a plugin author must not inherit our dependencies: sdk, sdk/frame and sdk/coverage import the standard library and each other",
		oneOf("sdk", "sdk/frame", "sdk/coverage"),
		func(_, imp string) bool {
			return !standard(imp) && !oneOf("./sdk", "./sdk/frame", "./sdk/coverage")(imp)
		},
	},
	{
		"an SDK that drags in the host makes every plugin as large as the host; the acceptance suite is for tests and starts processes as the host does",
		func(pkg string) bool { return below("sdk")(pkg) && !below("sdk/plugintest")(pkg) },
		func(_, imp string) bool { return below("./host", "./plugins", "./cmd")(imp) },
	},
	{
		"a plugin is what a stranger could have written: it sees sdk, fault points, its drivers and itself",
		below("plugins"),
		func(pkg, imp string) bool {
			return strings.HasPrefix(imp, "./") && !below("./sdk", "./internal/faultpoint", "./"+top(pkg, 2))(imp)
		},
	},
	{
		"generated types end at internal/wire; everybody else speaks sdk",
		except("internal/wire", "internal/twgpb"),
		func(_, imp string) bool { return below("./internal/twgpb")(imp) },
	},
	{
		"the transport is one package's business: a plugin's main and the host's launcher plug it in",
		except("internal/wire", "sdk/serve", "host/plugins"),
		func(_, imp string) bool {
			return below("./internal/wire", "github.com/hashicorp/go-plugin")(imp)
		},
	},
	{
		"gRPC and protobuf stay behind internal/wire, so that a carrier can be replaced",
		except("internal", "sdk/serve", "host/plugins"),
		func(_, imp string) bool { return below("google.golang.org")(imp) },
	},
	{
		"leaves under host do not know each other; host/pipeline composes them",
		func(pkg string) bool { return below("host")(pkg) && !below("host/pipeline")(pkg) },
		func(pkg, imp string) bool {
			return strings.HasPrefix(imp, "./") && !below("./sdk", "./internal/faultpoint", "./internal/wire", "./"+top(pkg, 2))(imp)
		},
	},
	{
		"host/pipeline receives sources and sinks: it must run without a file to read and a process to start",
		below("host/pipeline"),
		func(_, imp string) bool { return below("./host/config", "./host/plugins", "./cmd", "./plugins")(imp) },
	},
	{
		"the gate decides and does nothing else, so that a model can check it: no I/O, no clock of its own",
		below("host/ackgate"),
		func(_, imp string) bool {
			return below("os", "net", "io", "syscall", "bufio", "log", "context", "time", "./internal/faultpoint")(imp)
		},
	},
	{
		"the machines of flow control decide and do nothing else; who calls them passes the time",
		below("host/flow"),
		func(_, imp string) bool {
			return below("os", "net", "io", "syscall", "bufio", "log", "context", "sync", "./internal/faultpoint")(imp)
		},
	},
	{
		"the language of pipeline files is known to host/config and the command only",
		except("host/config", "cmd/twg"),
		func(_, imp string) bool { return below("github.com/hashicorp/hcl", "github.com/zclconf/go-cty")(imp) },
	},
	{
		"drivers of outside systems belong to plugins, not to the host or the sdk; the broker for trying twg out is one",
		func(pkg string) bool { return below("host", "sdk", "internal")(pkg) && pkg != "internal/devkafka" },
		func(_, imp string) bool {
			return below("github.com/twmb", "github.com/parquet-go", "github.com/jackc", "database/sql")(imp)
		},
	},
	{
		"metrics and pictures are made from plain values at the very edge: nothing that moves records depends on them",
		except("host/admin/metrics", "cmd/twg/top"),
		func(_, imp string) bool { return below("github.com/prometheus", "github.com/charmbracelet")(imp) },
	},
	{
		"an example shows what anybody can write: sdk and nothing else of ours",
		below("examples"),
		func(_, imp string) bool { return strings.HasPrefix(imp, "./") && !below("./sdk", "./examples")(imp) },
	},
	{
		"the product does not depend on its benchmarks and harnesses",
		below("sdk", "host", "plugins", "cmd", "internal"),
		func(_, imp string) bool { return below("./bench", "./test", "./examples")(imp) },
	},
	{
		"the broker for trying twg out is the command's own, nothing of it is on the way of real records",
		except("cmd/twg", "bench", "test", "internal/devkafka"),
		func(_, imp string) bool { return below("./internal/devkafka")(imp) },
	},
	{
		"a command is the end of the line",
		func(string) bool { return true },
		func(pkg, imp string) bool { return below("./cmd")(imp) && !below("cmd")(pkg) },
	},
	{
		"the acceptance suite contains the host: only tests may import it",
		except("sdk/plugintest"),
		func(_, imp string) bool { return below("./sdk/plugintest")(imp) },
	},
	{
		"what starts hosts for tests is for tests",
		except("test/hostproc"),
		func(_, imp string) bool { return below("./test/hostproc")(imp) },
	},
	{
		"the acceptance suite needs of the host what starts a process and what makes an id, not what decides",
		below("sdk/plugintest"),
		func(_, imp string) bool {
			return below("./host", "./cmd", "./plugins")(imp) && !below("./host/plugins", "./host/recordid")(imp)
		},
	},
	{
		"tests' tools stay in tests",
		func(pkg string) bool { return pkg != "sdk/plugintest" && pkg != "test/hostproc" },
		func(_, imp string) bool {
			return below("testing", "pgregory.net/rapid", "github.com/rogpeppe/go-internal")(imp)
		},
	},
}

// below reports whether a path is one of roots or lies below one.
func below(roots ...string) func(string) bool {
	return func(p string) bool {
		for _, r := range roots {
			if p == r || strings.HasPrefix(p, r+"/") {
				return true
			}
		}
		return false
	}
}

func except(roots ...string) func(string) bool {
	in := below(roots...)
	return func(p string) bool { return !in(p) }
}

func oneOf(names ...string) func(string) bool {
	return func(p string) bool {
		for _, n := range names {
			if p == n {
				return true
			}
		}
		return false
	}
}

// top is a path's first n elements.
func top(p string, n int) string {
	parts := strings.Split(p, "/")
	return strings.Join(parts[:min(n, len(parts))], "/")
}

// standard: the standard library's paths have no dot in their first element.
func standard(imp string) bool { return !strings.Contains(top(imp, 1), ".") }

// breach is one import that a rule forbids.
type breach struct{ file, imp, why string }

// breaches holds the files that are not tests against the rules.
func breaches(files []*file) []breach {
	var out []breach
	for _, f := range files {
		if f.test {
			continue
		}
		for _, r := range rules {
			if !r.about(f.pkg) {
				continue
			}
			for _, imp := range f.imports {
				if r.banned(f.pkg, imp) {
					out = append(out, breach{f.name, imp, r.why})
				}
			}
		}
	}
	return out
}
