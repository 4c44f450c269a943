package config

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// hidden stands for text that may be secret.
const hidden = "…"

// maxSnippet bounds a snippet, in bytes of the source line.
const maxSnippet = 400

// maskable is a token whose text may be a secret.
type maskable struct{ from, to int }

// masker finds what may be secret without understanding the file, which may
// be broken. Whatever it gets wrong must hide more, not less: a value begins
// at an equals sign or a colon and ends only at a line's end outside every
// bracket that was opened in it, and a line without either is harmless only if
// a brace follows, which makes it a block's head.
type masker struct {
	out     []maskable
	inValue bool
	depth   int
	// first: nothing stands on the line yet. head is what follows the first
	// word, until it is known whether the line is a block's head.
	first bool
	head  []maskable
}

func markValues(tokens hclsyntax.Tokens) []maskable {
	m := masker{first: true}
	for _, t := range tokens {
		m.token(t)
	}
	m.endLine()
	slices.SortFunc(m.out, func(a, b maskable) int { return cmp.Compare(a.from, b.from) })
	return slices.DeleteFunc(m.out, func(t maskable) bool { return t.from == t.to })
}

func (m *masker) token(t hclsyntax.Token) {
	switch t.Type {
	case hclsyntax.TokenEqual, hclsyntax.TokenColon:
		m.inValue = true
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote,
		hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		m.open(t.Type)
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote,
		hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
		m.close(t.Type)
	case hclsyntax.TokenNewline:
		m.endLine()
	case hclsyntax.TokenComma, hclsyntax.TokenEOF:
	default:
		m.text(t)
	}
}

func (m *masker) open(kind hclsyntax.TokenType) {
	switch {
	case m.inValue:
		m.depth++
	case kind == hclsyntax.TokenOBrace:
		m.head, m.first = nil, true
	}
}

func (m *masker) close(kind hclsyntax.TokenType) {
	m.depth = max(0, m.depth-1)
	if !m.inValue && kind == hclsyntax.TokenCBrace {
		m.endLine()
	}
}

func (m *masker) endLine() {
	m.inValue = m.inValue && m.depth > 0
	m.out = append(m.out, m.head...)
	m.head, m.first = nil, true
}

func (m *masker) text(t hclsyntax.Token) {
	piece := maskable{t.Range.Start.Byte, t.Range.End.Byte}
	switch {
	case m.inValue || t.Type == hclsyntax.TokenComment:
		m.out = append(m.out, piece)
	case m.first:
		m.first = false
	default:
		m.head = append(m.head, piece)
	}
	if t.Type == hclsyntax.TokenComment && bytes.HasSuffix(t.Bytes, []byte("\n")) {
		m.endLine()
	}
}

// snippet is the first source line of r, masked, with the characters to point
// at.
func (d *document) snippet(r hcl.Range) (text string, from, to int) {
	start, end := d.line(r.Start.Byte)
	if end-start > maxSnippet || start >= end {
		return "", 0, 0
	}
	w := maskedLine{doc: d, markFrom: r.Start.Byte, markTo: max(r.End.Byte, r.Start.Byte+1)}
	for i := start; i < end; {
		i = w.add(i, end)
	}
	return string(w.out), w.from, max(w.to, w.from+1)
}

// line returns the byte range of the line that holds the offset.
func (d *document) line(offset int) (start, end int) {
	offset = min(max(offset, 0), len(d.src))
	start = bytes.LastIndexByte(d.src[:offset], '\n') + 1
	end = len(d.src)
	if i := bytes.IndexByte(d.src[start:], '\n'); i >= 0 {
		end = start + i
	}
	return start, start + len(bytes.TrimRight(d.src[start:end], "\r"))
}

// maskedLine builds a snippet and keeps track of where the mark moves to when
// masking changes the length.
type maskedLine struct {
	doc              *document
	out              []rune
	markFrom, markTo int
	from, to         int
}

// add writes what begins at byte i and returns the next byte.
func (w *maskedLine) add(i, end int) int {
	n, text := w.doc.piece(i, end)
	if i <= w.markFrom {
		w.from = len(w.out)
	}
	if masked := n > 1 && w.markFrom > i && w.markFrom < i+n; masked {
		w.from = len(w.out)
	}
	w.out = append(w.out, text...)
	if i < w.markTo {
		w.to = len(w.out)
	}
	return i + n
}

// piece is one character, or one masked token.
func (d *document) piece(i, end int) (n int, text []rune) {
	at, _ := slices.BinarySearchFunc(d.tokens, i, func(t maskable, i int) int { return cmp.Compare(t.to, i+1) })
	if at < len(d.tokens) && d.tokens[at].from <= i && !d.isVisible(d.tokens[at]) {
		return min(d.tokens[at].to, end) - i, []rune(hidden)
	}
	r := []rune(string(d.src[i:end]))[0]
	n = len(string(r))
	if r == '\uFFFD' && d.src[i] != 0xEF {
		n = 1 // not UTF-8
	}
	return n, []rune{r}
}

func (d *document) isVisible(t maskable) bool {
	for _, v := range d.visible {
		if v.Start.Byte <= t.from && t.to <= v.End.Byte {
			return true
		}
	}
	return false
}
