package source

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/twg-io/twg/plugins/file-source/content"
)

// maxHead bounds the part of the first lines that identifies a file.
const maxHead = 4 << 10

// seen is what the file system says about a file without reading it.
type seen struct {
	inode uint64
	size  int64
	mtime time.Time
}

// sameAs reports whether nothing has changed.
func (s seen) sameAs(o seen) bool {
	return s.inode == o.inode && s.size == o.size && s.mtime.Equal(o.mtime)
}

// incarnationOf says which file this is: the same after a restart of anything
// and after lines were added, another one after it was replaced, or cut and
// begun anew. It is made of the inode, the time when the file was made (where
// the file system tells it) and a hash of the first lines.
//
// The device is not part of it: its number can be another one after a reboot,
// and two files at one path do not differ in it alone. Empty: the file does not
// have its first lines yet; complete says that it will not get more.
func incarnationOf(in *content.Reader, lines int, complete bool) (string, error) {
	head, whole, err := readHead(in, lines)
	if cut := errors.Is(err, content.ErrCut); err != nil && !cut || cut && complete && len(head) == 0 {
		return "", err
	}
	if !whole && !(complete && len(head) > 0) {
		return "", nil
	}
	inode, born, err := birth(in.File())
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(head)
	return fmt.Sprintf("%x-%x-%x", inode, born, sum[:8]), nil
}

// readHead returns the first lines, or maxHead bytes of them. whole is false
// if the content ends before; an error beside it may be that it breaks off.
func readHead(in io.Reader, lines int) (head []byte, whole bool, err error) {
	head = make([]byte, 0, maxHead)
	for len(head) < maxHead {
		n, err := in.Read(head[len(head):min(len(head)+512, maxHead)])
		head = head[:len(head)+n]
		if end := endOfLine(head, lines); end > 0 {
			return head[:end], true, nil
		}
		if err == io.EOF {
			return head, false, nil
		}
		if err != nil {
			return head, false, err
		}
	}
	return head, true, nil
}

// endOfLine is where the n'th line ends; 0: it does not.
func endOfLine(b []byte, n int) int {
	end := 0
	for range n {
		i := bytes.IndexByte(b[end:], '\n')
		if i < 0 {
			return 0
		}
		end += i + 1
	}
	return end
}

// birth is a file's inode and when it was made, in nanoseconds; 0 where the
// file system does not tell.
func birth(f *os.File) (inode uint64, born int64, err error) {
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return 0, 0, fmt.Errorf("stat %s: %w", f.Name(), err)
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return st.Ino, born, nil
}
