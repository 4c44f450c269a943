package config

import (
	"slices"
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
		if len(line) >= minSecret && !slices.Contains(s.texts, line) && !slices.Contains(s.revealed, line) {
			s.texts = append(s.texts, line)
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
		s.texts = slices.DeleteFunc(s.texts, func(t string) bool { return t == line })
	}
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
