package content

import (
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// expander expands a compressed stream, with bounded memory.
type expander interface {
	io.Reader
	// reset begins with a new stream.
	reset(io.Reader) error
	close()
}

// expanders are made by a file's suffix.
var expanders = map[string]func() expander{
	".gz":  func() expander { return &gzipExpander{} },
	".zst": func() expander { return &zstdExpander{} },
}

// gzipExpander reads members one after the other. Their headers are read with
// the content, so that a file that has none yet is a content without bytes.
type gzipExpander struct {
	in  io.Reader
	gz  *gzip.Reader
	err error
}

func (g *gzipExpander) reset(in io.Reader) error {
	g.in, g.gz, g.err = in, nil, nil
	return nil
}

func (g *gzipExpander) Read(b []byte) (int, error) {
	if g.gz == nil && g.err == nil {
		g.gz, g.err = gzip.NewReader(g.in)
	}
	if g.err != nil {
		return 0, g.err
	}
	return g.gz.Read(b)
}

func (g *gzipExpander) close() {}

// maxWindow bounds the memory of one zstd stream: that of zstd --long.
const maxWindow = 128 << 20

type zstdExpander struct{ dec *zstd.Decoder }

func (z *zstdExpander) reset(in io.Reader) (err error) {
	if z.dec == nil {
		z.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return err
		}
	}
	return z.dec.Reset(in)
}

func (z *zstdExpander) Read(b []byte) (int, error) { return z.dec.Read(b) }

func (z *zstdExpander) close() {
	if z.dec != nil {
		z.dec.Close()
	}
}
