package rawfile

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// cursor reads a column at ascending rows, and holds one page of it. Values
// are good until the next call.
type cursor struct {
	chunk  parquet.ColumnChunk
	pages  parquet.Pages
	page   parquet.Page
	values parquet.ValueReader
	end    int64 // the first row behind the page
	next   int64 // the row of the next value
	buf    []parquet.Value
	have   []parquet.Value // of buf, read and not used
	row    []parquet.Value
}

const cursorValues = 256

func newCursor(c parquet.ColumnChunk) *cursor {
	return &cursor{chunk: c, buf: make([]parquet.Value, cursorValues)}
}

// close releases the page.
func (c *cursor) close() {
	if c.page != nil {
		parquet.Release(c.page)
		c.page = nil
	}
	if c.pages != nil {
		c.pages.Close()
		c.pages = nil
	}
}

// one returns the only value of a row.
func (c *cursor) one(row int64) (parquet.Value, error) {
	vs, err := c.all(row)
	if err == nil && len(vs) != 1 {
		err = fmt.Errorf("row %d has %d values", row, len(vs))
	}
	if err != nil {
		return parquet.Value{}, err
	}
	return vs[0], nil
}

// all returns the values of a row.
func (c *cursor) all(row int64) ([]parquet.Value, error) {
	if err := c.find(row); err != nil {
		return nil, err
	}
	for {
		if err := c.take(); err != nil {
			return nil, fmt.Errorf("row %d of column %s: %w", row, c.chunk.Type(), err)
		}
		if c.next > row {
			return c.row, nil
		}
	}
}

// find makes the page that has the row the current one.
func (c *cursor) find(row int64) error {
	for c.page == nil || row >= c.end {
		seek := c.pages == nil || row > c.end
		c.have = nil
		if c.page != nil {
			parquet.Release(c.page)
			c.page = nil
		}
		if c.pages == nil {
			c.pages = c.chunk.Pages()
		}
		if seek {
			if err := c.pages.SeekToRow(row); err != nil {
				return err
			}
			c.end = row
		}
		p, err := c.pages.ReadPage()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("page of row %d: %w", row, err)
		}
		c.page, c.values, c.next, c.end = p, p.Values(), c.end, c.end+p.NumRows()
	}
	return nil
}

// take reads the next row of the page.
func (c *cursor) take() error {
	c.row = c.row[:0]
	for {
		if len(c.have) == 0 {
			n, err := c.values.ReadValues(c.buf)
			if n == 0 {
				if len(c.row) > 0 && c.next == c.end-1 && errors.Is(err, io.EOF) {
					break // the page's last row
				}
				if err == nil || errors.Is(err, io.EOF) {
					err = io.ErrUnexpectedEOF
				}
				return err
			}
			c.have = c.buf[:n]
		}
		if len(c.row) > 0 && c.have[0].RepetitionLevel() == 0 {
			break
		}
		c.row = append(c.row, c.have[0])
		c.have = c.have[1:]
	}
	c.next++
	return nil
}
