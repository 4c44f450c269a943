package dirlog

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/plugins/parquet/linklog"
	"github.com/twg-io/twg/sdk"
)

// The test's own program is the second process.
func TestMain(m *testing.M) {
	if dir := os.Getenv("TWG_DIRLOG_TEST_WRITER"); dir != "" {
		writeForever(dir)
	}
	os.Exit(m.Run())
}

// writeForever commits to stream B until it is killed, and prints how far
// each receipt goes.
func writeForever(dir string) {
	d, err := disk.Local(dir, false)
	if err != nil {
		panic(err)
	}
	l, err := Open(context.Background(), d)
	if err != nil {
		panic(err)
	}
	a, err := l.Acquire(context.Background(), "child", []sdk.Stream{streamB})
	if err != nil {
		panic(err)
	}
	c, err := l.Coverage(context.Background(), []sdk.Stream{streamB})
	if err != nil {
		panic(err)
	}
	for p := c[0].Set.FirstHole(); ; p++ {
		if rb, err := commit(l, streamB, a[0].Epoch, p, p+1); rb != nil || err != nil {
			panic(fmt.Sprint(rb, err))
		}
		fmt.Println(p + 1)
	}
}

func openLocal(t *testing.T, dir string) *Log {
	t.Helper()
	d, err := disk.Local(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// killAtWork runs a process that commits to dir, calls meanwhile after each of
// its first n receipts, kills it and returns how far its receipts went.
func killAtWork(t *testing.T, dir string, n int, meanwhile func()) (told int64) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "TWG_DIRLOG_TEST_WRITER="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range n {
		if !lines.Scan() {
			t.Fatal("the child ended")
		}
		meanwhile()
	}
	child.Process.Kill()
	for ok := true; ok; ok = lines.Scan() {
		fmt.Sscan(lines.Text(), &told)
	}
	child.Wait()
	return told
}

// One process commits while others, one after the other, are killed at work
// in the same directory.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	l := openLocal(t, dir)
	e := acquire(t, l, "parent", streamA)
	var mine, told int64
	for round := range 4 {
		told = killAtWork(t, dir, 10+round, func() {
			mustCommit(t, l, streamA, e, mine, mine+1)
			mine++
		})
	}
	again := openLocal(t, dir)
	if got := held(t, again, streamA).FirstHole(); got != mine {
		t.Errorf("parent: first hole %d, want %d", got, mine)
	}
	if got := held(t, again, streamB).FirstHole(); got < told {
		t.Errorf("child: first hole %d, and %d was told", got, told)
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if name := name.Name(); linklog.IsTemp(name) {
			t.Errorf("%s was left", name)
		}
	}
}
