// Package flow decides how much a pipeline may hold and how fast its source
// may read. It holds four machines, and none of them knows of the others:
//
//   - Admission is the semaphore in bytes: what may be in the host (F4 to F7, F9).
//   - Pressure is the backpressure machine with its four states (F1, F2).
//   - Stuck tells a deadlock from a sink that is merely slow (F3).
//   - Bottleneck names the sink that everything waits for (F8).
//
// All of them are plain values that one goroutine owns. They do no I/O, start
// nothing, and have no clock of their own: who calls passes the time. In
// steady state nothing here allocates.
package flow
