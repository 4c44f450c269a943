//go:build !mutant_commit_on_send

package ackgate

// commitOnSend is a deliberate error that only the fault harness builds in:
// what was sent counts as durable.
const commitOnSend = false
