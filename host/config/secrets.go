package config

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// minSecret is the shortest text that is hidden: hiding every "a" would tell
// more than it hides.
const minSecret = 4

// Secrets knows texts that no output may hold. It may be used from several
// goroutines.
type Secrets struct {
	mu       sync.Mutex
	texts    []string
	revealed []string
}

// add remembers a value and, since errors often quote one line, each of its
// lines.
func (s *Secrets) add(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(value) {
		line = strings.TrimSpace(line)
		if len(line) < minSecret || slices.Contains(s.revealed, line) {
			continue
		}
		for _, text := range spellings(line) {
			if !slices.Contains(s.texts, text) {
				s.texts = append(s.texts, text)
			}
		}
	}
	// Longest first: a secret may be a part of another.
	slices.SortStableFunc(s.texts, func(a, b string) int { return len(b) - len(a) })
}

// reveal takes a value back: the file's author says that it may be shown.
func (s *Secrets) reveal(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(value) {
		line = strings.TrimSpace(line)
		s.revealed = append(s.revealed, line)
		known := spellings(line)
		s.texts = slices.DeleteFunc(s.texts, func(t string) bool { return slices.Contains(known, t) })
	}
}

// spellings are the ways in which a text stands in output: as it is, and
// quoted as Go and as JSON do it, twice at most (an error that quotes it, in a
// log that quotes the error). Only what needs escapes has more than one.
func spellings(text string) []string {
	out := []string{text}
	for range 2 {
		for _, t := range slices.Clone(out) {
			for _, q := range []string{strconv.Quote(t), strconv.QuoteToASCII(t), quoteJSON(t)} {
				if q = q[1 : len(q)-1]; !slices.Contains(out, q) {
					out = append(out, q)
				}
			}
		}
	}
	return out
}

func quoteJSON(text string) string {
	quoted, _ := json.Marshal(text) // a string always can be
	return string(quoted)
}

// Hide replaces every secret in text.
func (s *Secrets) Hide(text string) string {
	if s == nil {
		return text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range s.texts {
		text = strings.ReplaceAll(text, secret, "(hidden)")
	}
	return text
}
