package memory

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes files below a fresh root.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const status = "Name:\ttwg\nVmRSS:\t    9000 kB\nRssAnon:\t    4096 kB\nRssFile:\t    4880 kB\nRssShmem:\t      24 kB\nThreads:\t7\n"

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name       string
		files      map[string]string
		limit, gol int64
		want       int64
		from       string
	}{
		{"nothing is known", nil, 0, 0, 0, ""},
		{"GOMEMLIMIT", nil, 0, 500, 500, "GOMEMLIMIT"},
		{"memory_limit", nil, 300, 500, 300, "memory_limit"},
		{"v2, in a container", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n"}, 0, 500, 1000, "cgroup"},
		{"v2, unlimited", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 0, 500, 500, "GOMEMLIMIT"},
		{"v2, the parent's is smaller", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "700\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n"}, 0, 0, 700, "cgroup"},
		{"v2, its own is smaller", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "700\n",
			"sys/fs/cgroup/a/b/memory.max": "600\n"}, 0, 0, 600, "cgroup"},
		{"v2, below unified", map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/unified/a/memory.max": "700\n"}, 0, 0, 700, "cgroup"},
		{"v2, a path of another namespace", map[string]string{"proc/self/cgroup": "0::/../../pod\n", "sys/fs/cgroup/memory.max": "800"}, 0, 0, 800, "cgroup"},
		{"v1", map[string]string{"proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n",
			"sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "900\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0, 0, 900, "cgroup"},
		{"v1, in a container", map[string]string{"proc/self/cgroup": "4:hugetlb,memory:/docker/abc\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "900\n"}, 0, 0, 900, "cgroup"},
		{"v1, unlimited", map[string]string{"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0, 0, 0, ""},
		{"memory_limit below the cgroup's", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n"}, 800, 0, 800, "memory_limit"},
		{"memory_limit above it", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n"}, 2000, 0, 1000, "cgroup"},
		{"garbage", map[string]string{"proc/self/cgroup": "0::/\nnonsense\n::\n", "sys/fs/cgroup/memory.max": "many\n"}, 0, 0, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{"proc/self/status": status}
			for k, v := range c.files {
				files[k] = v
			}
			r := &Reader{Root: tree(t, files), Limit: c.limit, GoLimit: c.gol}
			u, err := r.Read()
			if err != nil || u.Limit != c.want || u.From != c.from {
				t.Errorf("limit %d from %q, error %v; want %d from %q", u.Limit, u.From, err, c.want, c.from)
			}
		})
	}
}

// Host and plugins together, without program files; who has ended counts as
// nothing.
func TestResident(t *testing.T) {
	root := tree(t, map[string]string{"proc/self/status": status, "proc/7/status": strings.ReplaceAll(status, "4096", "1000"),
		"proc/8/status": "VmRSS: 10 kB\n", "proc/9/status": "State: Z (zombie)\n"})
	r := &Reader{Root: root, Limit: 1 << 30, PIDs: func() []int { return []int{7, 8, 9, 10} }}
	u, err := r.Read()
	if want := int64(4096+24+1000+24+10) << 10; err != nil || u.Resident != want {
		t.Errorf("resident %d, error %v, want %d", u.Resident, err, want)
	}
	if want := float64(u.Resident) / (1 << 30); u.Ratio() != want {
		t.Errorf("ratio %v, want %v", u.Ratio(), want)
	}
	if (Usage{Resident: 5}).Ratio() != 0 {
		t.Error("a ratio without a limit")
	}
}

func TestNoProc(t *testing.T) {
	r := &Reader{Root: t.TempDir(), Limit: 100}
	if u, err := r.Read(); err == nil || u.Limit != 100 || u.Resident != 0 {
		t.Errorf("%+v, error %v", u, err)
	}
}
