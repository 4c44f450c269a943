package recordid

import "github.com/twg-io/twg/sdk/frame"

// The canonical bytes: each part is its length as a big-endian u32 and then
// its bytes; a null value is the length 0xFFFFFFFF and nothing.
// The parts are cluster, topic, incarnation, partition (4 bytes, big-endian),
// and for a record also position (8 bytes, big-endian) and value.

func appendStream(b []byte, s frame.Stream) []byte {
	b = appendPart(b, s.Cluster)
	b = appendPart(b, s.Topic)
	b = appendPart(b, s.Incarnation)
	b = be.AppendUint32(b, 4)
	return be.AppendUint32(b, uint32(s.Partition))
}

func appendPart(b []byte, part string) []byte {
	b = be.AppendUint32(b, uint32(len(part)))
	return append(b, part...)
}

func appendPosition(b []byte, position int64) []byte {
	b = be.AppendUint32(b, 8)
	return be.AppendUint64(b, uint64(position))
}
