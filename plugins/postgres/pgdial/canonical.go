package pgdial

import (
	"net"
	"slices"
	"strconv"
	"strings"
)

// Canonical names the database as each of the servers that the DSN leads to,
// sorted, so that two DSNs that are spelled differently can be told to mean one
// database. It connects to nothing: a name and an address of one host, or a
// socket and a port of one server, are taken for two.
func (d *Dialer) Canonical() []string {
	out := []string{server(d.cfg.Host, d.cfg.Port)}
	for _, f := range d.cfg.Fallbacks {
		out = append(out, server(f.Host, f.Port))
	}
	for i := range out {
		out[i] += "/" + d.database()
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// database is the user's name where none is given, as at the server.
func (d *Dialer) database() string {
	if d.cfg.Database == "" {
		return d.cfg.User
	}
	return d.cfg.Database
}

func server(host string, port uint16) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		host = "localhost"
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// DefaultSchema is where a table without a schema is looked for and made: the
// first of the DSN's search_path that is not the user's own, or public. A role
// or a database may have another search_path, and a schema may be named as the
// user; that only the server knows.
func (d *Dialer) DefaultSchema() string {
	path := d.cfg.RuntimeParams["search_path"]
	if path == "" {
		_, path, _ = strings.Cut(d.cfg.RuntimeParams["options"], "search_path=")
		path, _, _ = strings.Cut(path, " ")
	}
	for _, s := range strings.Split(path, ",") {
		s = strings.TrimSpace(s)
		if quoted := strings.Trim(s, `"`); quoted != s {
			s = quoted
		} else {
			s = strings.ToLower(s)
		}
		if s != "" && s != "$user" {
			return s
		}
	}
	return "public"
}
