//go:build mutant_commit_on_write

package sink

// answersEarly: rows are answered when they were copied, before they are
// committed. The fault harness must find that.
const answersEarly = true
