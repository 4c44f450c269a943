package top

import (
	"context"
	"io"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// Model is the picture and what it is drawn from. It asks by itself, and is
// changed by Update alone.
type Model struct {
	address       string
	every         time.Duration
	look          func() (Look, error)
	seen          map[string]*history
	now           Look
	known         bool // there was an answer
	err           error
	width, height int
	top           int // the first line that is shown
}

// NewModel returns a model that asks with look, every so often.
func NewModel(address string, every time.Duration, look func() (Look, error)) *Model {
	return &Model{address: address, every: every, look: look, seen: map[string]*history{}, width: 100, height: 40}
}

// Run draws on a terminal until the user or ctx ends it.
func Run(ctx context.Context, in io.Reader, out io.Writer, c *Client, every time.Duration) error {
	m := NewModel(c.address, every, func() (Look, error) { return c.Look(ctx) })
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithAltScreen(), tea.WithoutSignalHandler())
	_, err := p.Run()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// looked is the answer to a look; due says that the next one is.
type (
	looked struct {
		look Look
		err  error
	}
	due struct{}
)

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd { return m.ask }

func (m *Model) ask() tea.Msg {
	l, err := m.look()
	return looked{l, err}
}

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case looked:
		m.take(msg)
		return m, tea.Tick(m.every, func(time.Time) tea.Msg { return due{} })
	case due:
		return m, m.ask
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyMsg:
		return m, m.key(msg.String())
	}
	return m, nil
}

// take keeps the last answer while there is no newer one.
func (m *Model) take(msg looked) {
	m.err = msg.err
	if msg.err != nil {
		return
	}
	m.now, m.known = msg.look, true
	for i := range m.now.Host.Pipelines {
		p := &m.now.Host.Pipelines[i]
		if m.seen[p.Name] == nil {
			m.seen[p.Name] = &history{}
		}
		m.seen[p.Name].see(m.now.Host.Started, p)
	}
}

func (m *Model) key(k string) tea.Cmd {
	switch k {
	case "q", "esc", "ctrl+c":
		return tea.Quit
	case "up", "k":
		m.top--
	case "down", "j":
		m.top++
	case "pgup":
		m.top -= m.height - 2
	case "pgdown", " ":
		m.top += m.height - 2
	case "home", "g":
		m.top = 0
	}
	m.top = max(min(m.top, len(m.lines())-m.room()), 0)
	return nil
}

// room is how many lines there are between the head and the foot.
func (m *Model) room() int { return max(m.height-2, 1) }
