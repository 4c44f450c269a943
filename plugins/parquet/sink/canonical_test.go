package sink

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/twg-io/twg/sdk"
)

// A directory has one canonical name, there or not, over whatever link.
func TestCanonicalTargets(t *testing.T) {
	root := t.TempDir()
	for _, err := range []error{os.Mkdir(filepath.Join(root, "lake"), 0o755), os.Symlink("lake", filepath.Join(root, "link"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
	of := func(dir string) string {
		caps, diags := New().Configure(sdk.NewSettings(fmt.Appendf(nil, `{"dir":%q}`, dir)))
		if diags.HasErrors() || len(caps.CanonicalTargets) != 1 {
			t.Fatal(diags, caps)
		}
		return caps.CanonicalTargets[0]
	}
	for _, same := range [][]string{{"lake", "link", filepath.Join(root, "lake"), "./x/../lake/"}, {"lake/new/a", "link/new/a"}, {"a/b", filepath.Join(root, "a", "b")}} {
		for _, dir := range same[1:] {
			if of(dir) != of(same[0]) {
				t.Errorf("%s is %s, and %s is %s", dir, of(dir), same[0], of(same[0]))
			}
		}
	}
	if of("lake") == of("lake/new") || of("a") == of("b") {
		t.Error("two directories have one name")
	}
}
