//go:build !unguarded

package flow

// Guarded is false in a build that make bench makes to compare with (tag
// unguarded): a plain byte budget without estimates, machines and histograms.
const Guarded = true

// conservative is the ratio that is assumed of a stream that is not known yet.
// Measured: a trickle of records of 400 bytes, one a frame, takes six times its
// bytes; JSON text compresses four- to eightfold.
const conservative = 8.0
