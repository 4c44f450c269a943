// Package lanes keeps what the store knows of the lanes besides raw: what
// their sinks hold and have set aside, their live floors, the windows that are
// to be replayed, and who works on which. It is a log (package linklog) of its
// own in the directory _twg beside the raw files; the layout is in
// docs/storage.md.
//
// Every change is one commit, made from the state that all commits before it
// add up to: a link that fails means that another process was first, and the
// change is made again from what it left. So records are never lost to each
// other, windows never overlap, and of two claims one wins.
package lanes
