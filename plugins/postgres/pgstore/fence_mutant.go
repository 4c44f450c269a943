//go:build mutant_no_fence

package pgstore

// fenced is off: whoever held a window once may renew and complete it. The
// fault harness must find that.
const fenced = "$3::bigint is not null"
