//go:build mutant_commit_on_send

package ackgate

const commitOnSend = true
