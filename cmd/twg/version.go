package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker when a release is built.
var version = "0.1.0-dev"

// protocolVersion is the wire protocol's major version.
const protocolVersion = 1

type versionCmd struct {
	JSON bool `help:"Print JSON."`
}

type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Protocol int    `json:"protocol"`
}

func (c *versionCmd) Run(a *app) error {
	info := versionInfo{Version: version, Go: runtime.Version(), Protocol: protocolVersion}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, s := range build.Settings {
			switch s.Key {
			case "vcs.revision":
				info.Commit = s.Value
			case "vcs.modified":
				info.Modified = s.Value == "true"
			}
		}
	}
	if c.JSON {
		return json.NewEncoder(a.stdout).Encode(info)
	}
	fmt.Fprintf(a.stdout, "twg %s (protocol %d, %s)\n", info.Version, info.Protocol, info.Go)
	return nil
}
