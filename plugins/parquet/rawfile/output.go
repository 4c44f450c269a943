package rawfile

import (
	"bufio"
	"io"

	"github.com/twg-io/twg/plugins/parquet/footer"
)

// output counts and checksums what a Parquet writer writes, and holds the
// file's end back, where the checksums are filled in.
type output struct {
	w     *bufio.Writer
	bytes int64
	crc   uint32
	tail  []byte
	held  bool
}

func (o *output) reset(w io.Writer) {
	if o.w == nil {
		o.w = bufio.NewWriterSize(w, 256<<10)
	}
	o.w.Reset(w)
	*o = output{w: o.w, tail: o.tail[:0]}
}

func (o *output) Write(b []byte) (int, error) {
	if o.held {
		o.tail = append(o.tail, b...)
		return len(b), nil
	}
	n, err := o.w.Write(b)
	o.bytes += int64(n)
	o.crc = footer.Sum(o.crc, b[:n])
	return n, err
}

// hold begins the file's end.
func (o *output) hold() { o.held = true }

// seal writes the file's end.
func (o *output) seal() error {
	if err := footer.Seal(o.tail, o.bytes, o.crc); err != nil {
		return err
	}
	if _, err := o.w.Write(o.tail); err != nil {
		return err
	}
	return o.w.Flush()
}
