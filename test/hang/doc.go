// Package hang has a real host's loop hang, at a fault point: the watchdog ends
// the process, with its plugins, and nothing is lost. docs/operations.md says
// what should happen.
package hang
