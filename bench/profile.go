package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// profileSource is added to a program's main package by the compiler's
// -overlay, so that the product itself has no profiling code. A plugin can be
// killed at any time, so the profile is written in short pieces, which
// `go tool pprof` merges; the last piece is lost.
const profileSource = `package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"
)

func init() {
	go func() {
		for n := 0; ; n++ {
			name := fmt.Sprintf("%%s-%%d-%%d", filepath.Base(os.Args[0]), os.Getpid(), n)
			f, err := os.Create(filepath.Join(%q, name+".cpu"))
			if err != nil {
				return
			}
			_ = pprof.StartCPUProfile(f)
			time.Sleep(time.Second)
			pprof.StopCPUProfile()
			_ = f.Close()
			f, err = os.Create(filepath.Join(%q, name+".allocs"))
			if err != nil {
				return
			}
			_ = pprof.Lookup("allocs").WriteTo(f, 0)
			_ = f.Close()
		}
	}()
}
`

// overlay makes the arguments for the compiler that add profiling to the
// packages; profiles go to out/profiles.
func overlay(out string, packages []string) ([]string, error) {
	dir, err := filepath.Abs(filepath.Join(out, "profiles"))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make profile directory: %w", err)
	}
	source := filepath.Join(dir, "profile.go.txt")
	text := fmt.Sprintf(profileSource, dir, dir)
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		return nil, fmt.Errorf("write profile source: %w", err)
	}
	replace := map[string]string{}
	for _, p := range packages {
		target, err := filepath.Abs(filepath.Join(p, "zz_bench_profile.go"))
		if err != nil {
			return nil, err
		}
		replace[target] = source
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, b, 0o644); err != nil {
		return nil, fmt.Errorf("write overlay: %w", err)
	}
	return []string{"-overlay", file}, nil
}
