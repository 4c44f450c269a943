package config

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Admin is the admin block: where the host answers for its health and metrics.
type Admin struct {
	// Network is tcp or unix, Address what net.Listen takes for it.
	Network, Address string
	// Token is what a request must bring; empty: none is asked for.
	Token string
	// UnreachableAfter is how long a source's servers may be away, MaxCommitAge
	// how long a record may wait to be committed, before the host is not ready.
	UnreachableAfter, MaxCommitAge time.Duration

	place
}

// Loopback reports whether only this machine can reach the address.
func (a *Admin) Loopback() bool {
	if a.Network == "unix" {
		return true
	}
	host, _, err := net.SplitHostPort(a.Address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Complete reports whether the block says where the host answers, and with which
// token if with any, whatever else may be wrong with the file. nil: it does not.
func (a *Admin) Complete() bool {
	if a == nil || a.Address == "" {
		return false
	}
	_, wanted := a.attrs[tokenName]
	return !wanted || a.Token != ""
}

var adminAttributes = []attribute[*Admin]{
	{"listen", cty.String, "127.0.0.1:9464", func(a *Admin, v cty.Value) error {
		return setListen(a, v.AsString())
	}},
	{tokenName, cty.String, "", func(a *Admin, v cty.Value) error {
		return setToken(&a.Token, v.AsString())
	}},
	{"unreachable_after", cty.String, "30s", func(a *Admin, v cty.Value) error {
		return setDuration(&a.UnreachableAfter, v, time.Second, time.Hour)
	}},
	{"max_commit_age", cty.String, "2m", func(a *Admin, v cty.Value) error {
		return setDuration(&a.MaxCommitAge, v, time.Second, 24*time.Hour)
	}},
}

// tokenName is the attribute whose text no diagnostic shows.
const tokenName = "token"

func (d *decoder) addAdmin(c *Config, b *hclsyntax.Block) {
	d.labels(b)
	if c.Admin != nil {
		d.problem(b.DefRange(), "Second admin block", "A host has one. Put what is said about it into one block.")
		return
	}
	a := &Admin{place: place{doc: d.doc, def: b.DefRange()}}
	c.Admin = a
	a.attrs = decodeAttributes(d, b.Body, "in an admin block", adminAttributes, a, nil)
	for _, inner := range b.Body.Blocks {
		d.unknownBlock(inner, "in an admin block", nil)
	}
	d.checkToken(b.Body, a)
	if a.Address != "" && !a.Loopback() && b.Body.Attributes[tokenName] == nil {
		d.problem(a.at("listen"), "Open endpoint without a token", `Other machines can reach this address. Set token = env("TWG_ADMIN_TOKEN") or token = file("..."), or listen on 127.0.0.1 or on unix:PATH.`)
	}
}

// checkToken refuses a token that stands in the file itself.
func (d *decoder) checkToken(body *hclsyntax.Body, a *Admin) {
	if a.Token == "" {
		return
	}
	d.doc.secrets.add(a.Token)
	expr := body.Attributes[tokenName].Expr
	if v, diags := expr.Value(d.context()); diags.HasErrors() || !v.IsMarked() {
		d.problem(expr.Range(), "Token in the file", `Who may read the file could use it. Write env("TWG_ADMIN_TOKEN") or file("...").`)
	}
	d.checkTokenFile(expr)
}

// checkTokenFile warns of a token in a file that every user of the machine may
// read: it is looked at only where the expression is file("path") itself.
func (d *decoder) checkTokenFile(expr hclsyntax.Expression) {
	call, ok := expr.(*hclsyntax.FunctionCallExpr)
	if d.mode == nil || !ok || call.Name != "file" || len(call.Args) != 1 {
		return
	}
	path, diags := call.Args[0].Value(d.context())
	path, _ = path.Unmark()
	if diags.HasErrors() || path.Type() != cty.String || path.IsNull() || !path.IsKnown() {
		return
	}
	const others = 0o004
	if mode, err := d.mode(path.AsString()); err == nil && mode.Perm()&others != 0 {
		d.diags = append(d.diags, d.doc.warningAt(expr.Range(), "Token that others can read", fmt.Sprintf(
			"Every user of this machine may read the file (its mode is %#o). Take that right away: chmod o-r.", mode.Perm())))
	}
}

func setListen(a *Admin, text string) error {
	const form = `Write HOST:PORT ("127.0.0.1:9464"; port 0 takes a free one) or "unix:PATH".`
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		a.Network, a.Address = "unix", path
		if path == "" || len(path) > maxSocketPath {
			a.Address = ""
			return errors.New("A socket's path has from 1 to 80 bytes. " + form)
		}
		return nil
	}
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return errors.New(form)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return errors.New(form)
	}
	a.Network, a.Address = "tcp", text
	return nil
}

// maxSocketPath leaves room, in what the system allows, for the name that the
// socket has before it is open to anybody.
const maxSocketPath = 80

// A token goes into a header, and should not be guessed.
func setToken(into *string, text string) error {
	const least, most = 16, 512
	odd := strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
	if len(text) < least || len(text) > most || odd {
		return errors.New("A token has from 16 to 512 characters of ASCII, without spaces.")
	}
	*into = text
	return nil
}
