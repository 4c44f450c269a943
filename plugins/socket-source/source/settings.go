package source

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/twg-io/twg/sdk"
)

// Settings are the plugin's settings in a pipeline file.
type Settings struct {
	Cluster string `twg:"cluster,required" validate:"min=1" doc:"a name for where the records come from; it is part of the stream and of every record id, so it must never change"`
	Stream  string `twg:"stream,required" validate:"min=1,max=200" doc:"the stream's name, which is its topic; visible characters, no spaces"`
	Listen  string `twg:"listen,required" validate:"min=1" doc:"where to listen: host:port, or unix: and a path"`
	Framing string `twg:"framing" default:"lines" validate:"oneof=lines|length" doc:"how records are told apart. lines: a newline ends each; length: four bytes, big-endian, stand before each"`
	Resume  bool   `twg:"resume" default:"false" doc:"the peer keeps what it has sent and answers RESUME, so that nothing is lost; false: what is on its way in a crash is lost"`

	AllowRemote bool   `twg:"allow_remote" default:"false" doc:"listen on an address that other machines can reach"`
	UnixMode    string `twg:"unix_mode" default:"0600" doc:"permissions of the unix socket, octal"`
	TLS         *TLS   `twg:"tls" doc:"encrypt TCP connections"`

	MaxConnections   int           `twg:"max_connections" default:"64" validate:"min=1,max=10000" doc:"most peers at a time; more wait to be accepted. With resume there is one, and a new one replaces it"`
	MaxFrameBytes    sdk.ByteSize  `twg:"max_frame_bytes" default:"1MiB" validate:"min=1,max=240MiB" doc:"largest record; the connection of a peer that sends a larger one is closed"`
	IdleTimeout      time.Duration `twg:"idle_timeout" default:"0s" validate:"min=0s" doc:"a peer that sends nothing for so long is cut off; 0s: never"`
	HandshakeTimeout time.Duration `twg:"handshake_timeout" default:"10s" validate:"min=10ms" doc:"how long a peer may take for TLS and to answer RESUME"`
	ListenTimeout    time.Duration `twg:"listen_timeout" default:"10s" validate:"min=0s" doc:"how long to try to get the address at the start"`
}

// TLS says how connections are encrypted.
type TLS struct {
	Cert     string `twg:"cert,required" doc:"this side's certificate, PEM"`
	Key      string `twg:"key,required,sensitive" doc:"its key, PEM"`
	ClientCA string `twg:"client_ca" doc:"authorities whose certificates peers must show, PEM; empty: peers need none"`
}

// check finds what the schema cannot say.
func (s *Settings) check() sdk.Diagnostics {
	var d sdk.Diagnostics
	if strings.ContainsFunc(s.Stream, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == unicode.ReplacementChar }) {
		d.Errorf("stream", "Not a stream's name", "It has visible characters only, and no spaces.")
	}
	if mode, err := strconv.ParseUint(s.UnixMode, 8, 32); err != nil || mode > 0o777 {
		d.Errorf("unix_mode", "Not a file mode", "Write up to four octal digits, like 0660.")
	}
	if s.unix() {
		return append(d, s.checkUnix()...)
	}
	return append(d, s.checkTCP()...)
}

func (s *Settings) unix() bool { return strings.HasPrefix(s.Listen, "unix:") }

// address is what net.Listen takes.
func (s *Settings) address() (network, address string) {
	if path, ok := strings.CutPrefix(s.Listen, "unix:"); ok {
		return "unix", path
	}
	return "tcp", s.Listen
}

func (s *Settings) checkUnix() sdk.Diagnostics {
	var d sdk.Diagnostics
	_, path := s.address()
	if path == "" || strings.ContainsRune(path, 0) || path[0] == '@' || len(path) > 100 {
		d.Errorf("listen", "Not a socket's path", "After unix: stands a path of at most 100 bytes.")
	}
	if s.TLS != nil {
		d.Errorf("tls", "TLS on a unix socket", "A unix socket does not leave the machine. Take tls away, or listen on host:port.")
	}
	return d
}

func (s *Settings) checkTCP() sdk.Diagnostics {
	var d sdk.Diagnostics
	host, port, err := net.SplitHostPort(s.Listen)
	n, badPort := strconv.ParseUint(port, 10, 16)
	if err != nil || badPort != nil || n == 0 {
		d.Errorf("listen", "Not an address", "Write host:port with a port from 1 to 65535, for example 127.0.0.1:9400, or unix: and a path.")
		return d
	}
	if !loopback(host) && !s.AllowRemote {
		d.Errorf("listen", "Other machines could connect", "Listen on 127.0.0.1, or write allow_remote = true.")
	}
	if !loopback(host) && s.AllowRemote && (s.TLS == nil || s.TLS.ClientCA == "") {
		d = append(d, sdk.Diagnostic{Severity: sdk.SeverityWarning, Path: []string{"allow_remote"}, Summary: "Anybody who reaches the address can write",
			Detail: "Without tls and its client_ca a peer need not show who it is. Let a firewall or the network see to that."})
	}
	if s.TLS != nil {
		if _, err := s.TLS.config(); err != nil {
			d.Errorf("tls", "Unusable TLS settings", err.Error())
		}
	}
	return d
}

// loopback: only this machine reaches the address. A name is looked up by
// nobody here; but for localhost it may lead anywhere.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
