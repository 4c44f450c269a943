// Package plugins finds plugin programs, launches them and supervises their
// processes. What it hands out are plain sdk.Source and sdk.Sink values.
package plugins
