package sdk

// Memory is what a plugin's process takes at most with the settings it was
// given, besides what any plugin's process takes: as the system counts it
// (resident), in bytes, with the collector's garbage. In Go that is about twice
// what is in use. A plan prints it and adds it up; nothing enforces it.
type Memory struct {
	// Usual is the most while nothing happens that Extreme and Frames are for.
	Usual int64
	// Extreme comes on top where what comes is as large, or as much, as the
	// settings allow: a batch of the largest size, the most connections.
	Extreme int64
	// Frames come on top where records are larger than a frame should be
	// (Limits.FrameBytes): so many frames of one record of Limits.MaxRecordBytes.
	Frames int
	// Replay comes on top for each Replay under way.
	Replay int64
}

// Garbage is how much a Go process has resident for each byte in use: its
// collector lets the heap double (GOGC=100).
const Garbage = 2

// SinkCredit is how many bytes of frames wait in a sink's process for Write, at
// most, besides one batch that overdraws it. Memory counts them too.
const SinkCredit = 16 << 20
