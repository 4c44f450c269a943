package source

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// maxResponse bounds one response: a batch that is larger than what was asked
// for comes whole.
const maxResponse = 1 << 30

// clientOptions are those of the one client, which keeps the membership (if
// there is a group), the commits and the connections. It fetches nothing by itself: adjust leaves it
// no partition to fetch, so it can neither reset a position nor prefetch.
func (s *Settings) clientOptions(log *slog.Logger, g groupCallbacks) []kgo.Opt {
	opts := []kgo.Opt{
		kgo.SeedBrokers(s.Brokers...),
		kgo.ClientID(s.ClientID),
		kgo.WithLogger(clientLog{log, new(sparse)}),
		kgo.DisableClientMetrics(),
		kgo.MetadataMaxAge(s.MetadataMaxAge),
		kgo.MetadataMinAge(min(s.MetadataMaxAge, metadataMinAge)),
		kgo.BrokerMaxReadBytes(maxResponse),
	}
	if !s.storeManaged() {
		opts = append(opts, s.membership(g)...)
	}
	if s.TLS != nil {
		config, _ := s.TLS.config() // checked at Configure
		opts = append(opts, kgo.DialTLSConfig(config))
	}
	if s.SASL != nil {
		opts = append(opts, kgo.SASL(s.SASL.mechanism()))
	}
	return opts
}

// membership makes the client a member of the group.
func (s *Settings) membership(g groupCallbacks) []kgo.Opt {
	adjust := func(context.Context, map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
		return nil, nil
	}
	return append(s.balancing(g),
		kgo.ConsumeTopics(s.Topics...),
		kgo.ConsumerGroup(s.Group),
		kgo.DisableAutoCommit(),
		kgo.SessionTimeout(s.SessionTimeout),
		kgo.HeartbeatInterval(s.Heartbeat),
		kgo.RebalanceTimeout(s.RebalanceTimeout),
		kgo.AdjustFetchOffsetsFn(adjust),
		kgo.OnPartitionsAssigned(g.assigned),
		kgo.OnPartitionsRevoked(g.revoked),
		kgo.OnPartitionsLost(g.lost),
	)
}

func (t *TLS) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(t.CA)) {
			return nil, errors.New("ca holds no certificate in PEM. Use file() to read one from a file.")
		}
	}
	if t.Cert == "" && t.Key == "" {
		return c, nil
	}
	pair, err := tls.X509KeyPair([]byte(t.Cert), []byte(t.Key))
	if err != nil {
		return nil, errors.New("cert and key are no pair in PEM. Set both or neither; use file() to read them from files.")
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}

func (s *SASL) mechanism() sasl.Mechanism {
	switch s.Mechanism {
	case "plain":
		return plain.Auth{User: s.User, Pass: s.Password}.AsMechanism()
	case "scram-sha-256":
		return scram.Auth{User: s.User, Pass: s.Password}.AsSha256Mechanism()
	}
	return scram.Auth{User: s.User, Pass: s.Password}.AsSha512Mechanism()
}

// clientLog passes the client's warnings on. While brokers are away it gives
// the same one many times a second.
type clientLog struct {
	log    *slog.Logger
	sparse *sparse
}

// Level leaves franz-go's debug lines out, also where debug is on: they are
// several a request, and would push what matters out of the last lines of
// stderr, which the host shows when the process dies.
func (l clientLog) Level() kgo.LogLevel {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		return kgo.LogLevelInfo
	}
	return kgo.LogLevelWarn
}

func (l clientLog) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	at := slog.LevelDebug
	switch level {
	case kgo.LogLevelError:
		at = slog.LevelError
	case kgo.LogLevelWarn:
		at = slog.LevelWarn
	}
	if at >= slog.LevelWarn {
		leftOut, ok := l.sparse.now(msg)
		if !ok {
			return
		}
		if leftOut > 0 {
			keyvals = append(keyvals, "left_out", leftOut)
		}
	}
	l.log.Log(context.Background(), at, msg, keyvals...)
}
