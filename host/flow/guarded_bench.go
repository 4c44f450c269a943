//go:build unguarded

package flow

// Guarded and conservative: see guarded_product.go.
const (
	Guarded      = false
	conservative = 1.0
)
