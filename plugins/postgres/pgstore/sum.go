package pgstore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// intervalSum is the checksum of a coverage row. The stream's names are part of
// it: damage to them must not lend one stream's coverage to another.
func intervalSum(k sdk.Stream, lane, reason string, i coverage.Interval) int32 {
	b := appendStream(nil, k)
	b = appendText(b, lane)
	b = appendText(b, reason)
	b = binary.BigEndian.AppendUint64(b, uint64(i.From))
	b = binary.BigEndian.AppendUint64(b, uint64(i.Next))
	return sum(b)
}

// cursorSum is the checksum of a cursor's row.
func cursorSum(k sdk.Stream, c sdk.Cursor) int32 {
	b := appendStream(nil, k)
	b = binary.BigEndian.AppendUint64(b, uint64(c.Position))
	return sum(append(b, c.Token...))
}

func sum(b []byte) int32 { return int32(crc32.Checksum(b, castagnoli)) }

func appendStream(b []byte, k sdk.Stream) []byte {
	for _, s := range []string{k.Cluster, k.Topic, k.Incarnation} {
		b = appendText(b, s)
	}
	return binary.BigEndian.AppendUint32(b, uint32(k.Partition))
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

// damaged refuses a row whose checksum is wrong. To believe it could skip what
// is nowhere.
func (st *Store) damaged(table string, id streamID, k sdk.Stream, row string) error {
	where := fmt.Sprintf("where stream = '%s'", pgtype.UUID{Bytes: id, Valid: true})
	return sdk.Errorf(sdk.KindFatal, "", "the row %s of stream %s in %s does not match its checksum: it was damaged, or changed by hand. Restore the database; or delete from %s %s, and all of the stream is read from the source again",
		row, k, table, table, where)
}
