package plugins

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/twg-io/twg/internal/wire"
	"github.com/twg-io/twg/sdk"
)

// Options are how plugins are launched. The zero value is the product's, but
// for the lock.
type Options struct {
	// Logger gets what plugins log. Nil: slog's default.
	Logger *slog.Logger
	// Lock, if set, has the digests that plugins must have.
	Lock *Lock
	// StartTimeout bounds a process's way to its first answer. Zero: 15 s.
	StartTimeout time.Duration
	// PingInterval: see wire.Options. Zero: 5 s.
	PingInterval time.Duration
}

func (o Options) startTimeout() time.Duration {
	if o.StartTimeout <= 0 {
		return 15 * time.Second
	}
	return o.StartTimeout
}

func (o Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.Default()
	}
	return o.Logger
}

// Process is a plugin that runs. It must be ended with Kill or Stop.
type Process struct {
	file   File
	child  atomic.Pointer[child] // nil before go-plugin has begun to start it
	client *goplugin.Client
	plugin *wire.Client
	tail   *tail
	why    atomic.Pointer[error] // why the supervisor killed it
}

// launchOnce starts a plugin and asks it what it is. Errors name the file and
// show what the process wrote last.
func launchOnce(ctx context.Context, f File, opt Options) (*Process, error) {
	program, err := opt.Lock.open(f)
	if err != nil {
		return nil, err
	}
	defer program.close()
	p := &Process{file: f, tail: &tail{}}
	p.client = goplugin.NewClient(p.config(program, opt))
	ctx, cancel := context.WithTimeoutCause(ctx, opt.startTimeout(), fmt.Errorf("it did not answer within %v", opt.startTimeout()))
	defer cancel()
	defer context.AfterFunc(ctx, func() { p.kill() })()
	conn, err := p.connect()
	if err == nil {
		p.plugin, err = wire.Dial(ctx, conn, wire.Options{PingInterval: opt.PingInterval})
	}
	if err == nil {
		return p, nil
	}
	killed := context.Cause(ctx) == nil && p.killedBy(err)
	p.Kill()
	return nil, p.refused(ctx, err, killed)
}

func (p *Process) config(prog *program, opt Options) *goplugin.ClientConfig {
	cfg := &goplugin.ClientConfig{
		HandshakeConfig: goplugin.HandshakeConfig{ProtocolVersion: wire.ProtocolVersion, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		Plugins:         goplugin.PluginSet{wire.Service: dispense{}},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, _ string) (runner.Runner, error) {
			cmd.Path, cmd.Args, cmd.Err = prog.path, []string{p.file.Path}, nil
			cmd.Env = append(environment(), cmd.Env...)
			c := newChild(cmd)
			p.child.Store(c)
			return c, nil
		},
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		AutoMTLS:         true,
		SkipHostEnv:      true,
		StartTimeout:     opt.startTimeout(),
		Logger:           newHclog(opt.logger()),
		Stderr:           p.tail,
		SyncStdout:       p.tail,
		SyncStderr:       p.tail,
	}
	cfg.GRPCDialOptions = append(wire.DialOptions(), grpc.WithTransportCredentials(newCorkedTLS(func() *tls.Config { return cfg.TLSConfig })))
	return cfg
}

func (p *Process) connect() (*grpc.ClientConn, error) {
	proto, err := p.client.Client()
	if err != nil {
		return nil, err
	}
	conn, err := proto.Dispense(wire.Service)
	if err != nil {
		return nil, err
	}
	return conn.(*grpc.ClientConn), nil
}

// dispense gives the connection to the plugin as it is.
type dispense struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (dispense) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error {
	return errors.New("the host serves nothing")
}

func (dispense) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

// refused explains why a file does not work as a plugin. That another attempt
// helps is possible only if a process came up and then failed; it is likely if
// the process was killed.
func (p *Process) refused(ctx context.Context, err error, killed bool) error {
	kind, cause := sdk.KindFatal, err
	said, child := "", p.child.Load()
	if child != nil && child.stdout != nil {
		said = child.stdout.String()
	}
	switch version, ok := handshake(said); {
	case errors.Is(err, syscall.ENOEXEC):
		cause = fmt.Errorf("it is no program for this machine: %w", err)
	case child == nil || child.pid == 0:
	case ok && version != fmt.Sprint(wire.ProtocolVersion):
		cause = fmt.Errorf("it speaks version %s of the plugin protocol, this twg speaks version %d; use a plugin that was built for this twg", version, wire.ProtocolVersion)
	case context.Cause(ctx) != nil:
		kind, cause = sdk.KindRetryable, context.Cause(ctx)
	case said != "" && !ok:
		cause = fmt.Errorf("it is no plugin: its first line is %q", shorten(said))
	case killed:
		kind, cause = sdk.KindRetryable, killedAtStart{fmt.Errorf("it %s before it had answered", child.ended())}
	case said == "":
		kind, cause = sdk.KindRetryable, fmt.Errorf("it is no plugin, or failed at once: it %s before it said anything", child.ended())
	default:
		kind = sdk.KindOf(err)
	}
	return &sdk.Error{Op: "launch plugin " + p.file.Path, Kind: kind, Scope: sdk.ScopePlugin, Err: fmt.Errorf("%w%s", cause, p.tail)}
}

// handshake takes the protocol's version out of a plugin's first line.
func handshake(line string) (version string, ok bool) {
	parts := strings.Split(line, "|")
	if len(parts) < 4 || parts[0] != fmt.Sprint(goplugin.CoreProtocolVersion) {
		return "", false
	}
	return parts[1], true
}

func shorten(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}
