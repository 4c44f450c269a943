//go:build mutant_cover_before_receipt

package lane

// coverAtSend: what was sent counts as held. The random schedules must find
// that.
const coverAtSend = true
