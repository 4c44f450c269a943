package dirlog

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
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

// One process commits while others, one after the other, are killed at work
// in the same directory.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	d, err := disk.Local(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(context.Background(), d)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e := acquire(t, l, "parent", streamA)
	var mine, told int64
	for round := range 4 {
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
		for range 10 + round {
			if !lines.Scan() {
				t.Fatal("the child ended")
			}
			mustCommit(t, l, streamA, e, mine, mine+1)
			mine++
		}
		child.Process.Kill()
		for ok := true; ok; ok = lines.Scan() {
			fmt.Sscan(lines.Text(), &told)
		}
		child.Wait()
	}
	again, err := disk.Local(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	l2, err := Open(context.Background(), again)
	if err != nil {
		t.Fatal(err)
	}
	defer l2.Close()
	if got := held(t, l2, streamA).FirstHole(); got != mine {
		t.Errorf("parent: first hole %d, want %d", got, mine)
	}
	if got := held(t, l2, streamB).FirstHole(); got < told {
		t.Errorf("child: first hole %d, and %d was told", got, told)
	}
	if n := l2.st.last; len(l2.Missing(streamA, coverage.Interval{From: 0, Next: mine})) > 0 || n < uint64(mine) {
		t.Errorf("%d commits", n)
	}
	names, err := again.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if isTemp(name) {
			t.Errorf("%s was left", name)
		}
	}
}
