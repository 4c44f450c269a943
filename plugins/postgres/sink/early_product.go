//go:build !mutant_commit_on_write

package sink

// answersEarly is off: a receipt means that the transaction is committed.
const answersEarly = false
