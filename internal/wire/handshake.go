package wire

// What host and plugin must have in common before they speak twg.v1.
const (
	// ProtocolVersion is negotiated when a plugin's process starts.
	ProtocolVersion = 1
	// CookieKey and CookieValue are the variable by which a plugin's process
	// knows that the host has started it, and not a person.
	CookieKey   = "TWG_PLUGIN"
	CookieValue = "twg.v1"
	// Service is the one name under which a plugin serves.
	Service = "twg"
)
