// Package sources runs the sources whose position the sink keeps, file-source
// and socket-source, against the product from outside: twg, the source and the
// sink are three real processes that are killed, and what arrived is read by a
// reader that shares no code with the product. It is a test only.
package sources
