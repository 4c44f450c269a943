package source

import (
	"encoding/json"
	"errors"
	"fmt"
)

// history says which leader epochs the records of a stream have: each entry's
// from its position on. What was before the first entry is not known. Entries
// ascend in both; histories share no memory that is written.
//
// It is what a cursor carries. A log that was cut and filled anew has, from the
// cut on, records of an epoch that a reader of the old ones does not know.
type history []epochFrom

type epochFrom struct {
	epoch int32
	from  int64
}

// maxHistory bounds what is remembered: leaders change seldom.
const maxHistory = 32

// last is the newest epoch; -1: none is known.
func (h history) last() int32 {
	if len(h) == 0 {
		return -1
	}
	return h[len(h)-1].epoch
}

// with adds an epoch, unless it is not newer.
func (h history) with(epoch int32, from int64) history {
	if epoch <= h.last() {
		return h
	}
	old := h[max(0, len(h)-maxHistory+1):]
	return append(append(make(history, 0, len(old)+1), old...), epochFrom{epoch, from})
}

// below is what is known of records below a position.
func (h history) below(position int64) history {
	for len(h) > 0 && h[len(h)-1].from >= position {
		h = h[:len(h)-1]
	}
	return h
}

// token is a history as it stands in a cursor, as JSON.
type token struct {
	Version int        `json:"twg"`
	Epochs  [][2]int64 `json:"epochs"` // epoch, first position
}

func (h history) token() []byte {
	t := token{Version: 1}
	for _, e := range h {
		t.Epochs = append(t.Epochs, [2]int64{int64(e.epoch), e.from})
	}
	b, err := json.Marshal(t)
	if err != nil {
		panic(err) // numbers always marshal
	}
	return b
}

// parseHistory reads what token has written.
func parseHistory(b []byte) (history, error) {
	var t token
	if err := json.Unmarshal(b, &t); err != nil {
		return nil, fmt.Errorf("read cursor: %w", err)
	}
	if t.Version != 1 {
		return nil, fmt.Errorf("read cursor: version %d is not known", t.Version)
	}
	var h history
	for _, e := range t.Epochs {
		epoch, from := int32(e[0]), e[1]
		if int64(epoch) != e[0] || epoch <= h.last() || from < 0 || len(h) > 0 && from <= h[len(h)-1].from || len(h) == maxHistory {
			return nil, errors.New("read cursor: its epochs do not ascend")
		}
		h = append(h, epochFrom{epoch, from})
	}
	return h, nil
}
