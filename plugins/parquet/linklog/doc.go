// Package linklog makes a directory a log of commits: complete files, each of
// which gets the next number by link(2), which fails if the number is taken.
// That is the compare-and-swap on which all that the log says rests. What a
// commit is, and what the commits add up to, is the business of a Codec.
//
// The rules, each with the accident that it prevents, are in docs/storage.md,
// and so is the order of the steps. What a reader of this code needs to know
// and may not see:
//   - Names are not durable until the directory was fsynced, and a power cut
//     keeps any subset of those that were not. So n is linked only after an
//     fsync that covers n-1; else n could survive without n-1, and the log
//     would have a hole.
//   - Having read a commit does not make it durable: whoever linked it may
//     have died before its fsync. So the directory is fsynced after reading
//     and before anybody is told what was read.
//   - After a directory fsync that failed nothing is known. The Log is then
//     broken for good; a new one starts with a change of the directory, since
//     a second fsync of an unchanged directory proves nothing.
//   - Whoever removes commits below a checkpoint fsyncs the directory first
//     (the checkpoint may not be durable yet), and removes them in ascending
//     order. A writer that slept for a long time could otherwise link a number
//     that others had used and removed, and a reader that slept believe it: so
//     both look, after n, whether n-1 is there.
package linklog
