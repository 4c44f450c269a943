package memory

import (
	"os"
	"path/filepath"
	"testing"
)

// Whatever stands in the kernel's files, a reading is not negative and does not
// panic.
func FuzzRead(f *testing.F) {
	f.Add(status, "0::/a/b\n4:memory:/c\n", "1000\n")
	f.Add("RssAnon: 99999999999999999999 kB\nRssShmem:", ":::\n0::/../..", "max")
	f.Add("", "0::", "-1")
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, status, cgroup, limit string) {
		for name, text := range map[string]string{"proc/self/status": status, "proc/self/cgroup": cgroup,
			"sys/fs/cgroup/memory.max": limit, "sys/fs/cgroup/memory/memory.limit_in_bytes": limit} {
			p := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		u, err := (&Reader{Root: root, PIDs: func() []int { return []int{1} }}).Read()
		if u.Resident < 0 || u.Limit < 0 || u.Ratio() < 0 || err != nil && u.Resident != 0 {
			t.Errorf("%+v, %v", u, err)
		}
	})
}
