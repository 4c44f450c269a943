//go:build !mutant_cover_before_receipt

package lane

// coverAtSend is off: coverage follows the receipt (INV8).
const coverAtSend = false
