// Package wire turns the sdk's types into the messages of twg.v1 and back, and
// serves and calls the protocol: the plugin's side implements the generated
// services over the author's sdk.Source or sdk.Sink, the host's side
// implements those same interfaces over a connection.
//
// Both sides always read, whatever else they do; only credit holds anybody
// back. docs/protocol.md has the rules.
package wire
