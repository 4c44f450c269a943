package source

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/sdk"
)

// TestUnreachable: with no broker there, the source fails after the bound, in
// a way that may be tried again.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	set := (&broker{t: t, Cluster: newBroker(t).Cluster}).settings("g", "t")
	set.Brokers, set.StartupTimeout = []string{addr}, 500*time.Millisecond
	h := newHost(t).open(set)
	h.until("failure", func() bool { return len(h.failed) > 0 })
	if err := h.failed[0]; sdk.KindOf(err) != sdk.KindRetryable || !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(), "500ms") {
		t.Errorf("%q of kind %s, want it retryable, with the address and the bound", err, sdk.KindOf(err))
	}
}

// TestTopicComesLater: a topic need not exist yet.
func TestTopicComesLater(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	h := newHost(t).open(b.settings("g", "t"))
	b.create(1, "t", nil)
	b.fill("t", 0, 0, 10)
	h.untilRows(10)
}

func newBrokerSASL(t *testing.T) *broker {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.SeedTopics(1, "t"), kfake.GroupMinSessionTimeout(100*time.Millisecond),
		kfake.Superuser("PLAIN", "user", "secret"), kfake.Superuser("SCRAM-SHA-256", "user", "secret"), kfake.Superuser("SCRAM-SHA-512", "user", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &broker{t: t, Cluster: c}
}

func TestSASL(t *testing.T) {
	t.Parallel()
	b := newBrokerSASL(t)
	for _, mechanism := range []string{"plain", "scram-sha-256", "scram-sha-512"} {
		t.Run(mechanism, func(t *testing.T) {
			set := b.settings("g-"+mechanism, "t")
			set.SASL = &SASL{Mechanism: mechanism, User: "user", Password: "secret"}
			h := newHost(t).open(set)
			h.until("a run", func() bool { return len(h.runs) == 1 })
		})
	}
}

// TestWrongPassword: whether the broker says so or hangs up, the error leads
// to the setting and does not show it.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	b := newBrokerSASL(t)
	for _, mechanism := range []string{"plain", "scram-sha-512"} {
		t.Run(mechanism, func(t *testing.T) {
			set := b.settings("g", "t")
			set.StartupTimeout = 500 * time.Millisecond
			set.SASL = &SASL{Mechanism: mechanism, User: "user", Password: "wrong-word"}
			h := newHost(t).open(set)
			h.until("failure", func() bool { return len(h.failed) > 0 })
			if err := h.failed[0].Error(); !strings.Contains(err, "sasl") || strings.Contains(err, "wrong-word") {
				t.Errorf("%q, want it to name sasl and not the password", err)
			}
		})
	}
}

// TestRefusal: what a broker says once and for all.
func TestRefusal(t *testing.T) {
	r := &reader{set: &Settings{Brokers: []string{"b:1"}}}
	for _, err := range []error{kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.ClusterAuthorizationFailed} {
		if got := r.unreachable(err, false); sdk.KindOf(got) != sdk.KindFatal {
			t.Errorf("%v makes %v, want it fatal at once", err, got)
		}
	}
	if got := r.unreachable(net.ErrClosed, false); got != nil {
		t.Errorf("%v before the deadline, want another attempt", got)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, ca := selfSigned(t)
	b := newBrokerTLS(t, cert)
	set := b.settings("g", "t")
	set.TLS = &TLS{CA: ca}
	h := newHost(t).open(set)
	h.until("a run", func() bool { return len(h.runs) == 1 })
}

func newBrokerTLS(t *testing.T, cert tls.Certificate) *broker {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"), kfake.GroupMinSessionTimeout(100*time.Millisecond), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{cert}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &broker{t: t, Cluster: c, client: (*kgo.Client)(nil)}
}

// selfSigned makes a certificate for 127.0.0.1 that is its own authority.
func selfSigned(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
