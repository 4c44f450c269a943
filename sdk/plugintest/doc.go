// Package plugintest is the acceptance suite that every plugin must pass: a
// case for each clause of docs/protocol.md that this version has built. It
// runs a plugin's program as the host runs it, over real gRPC, and kills it.
//
//	func TestAcceptance(t *testing.T) {
//		plugintest.Sink(t, plugintest.SinkConfig{Binary: path, Target: newTarget})
//	}
//
// Cases that a plugin's capabilities have no part in do not run for it; it is
// held to what it declares. The suite belongs into tests only: it contains the
// host's side of the protocol, so that a plugin must not import it.
package plugintest
