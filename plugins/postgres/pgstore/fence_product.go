//go:build !mutant_no_fence

package pgstore

// fenced: a claim is renewed and completed under the window's fence only, its
// third argument (INV6).
const fenced = "fence = $3"
