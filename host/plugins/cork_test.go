package plugins

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// countedConn counts writes, and fails them once broken is set.
type countedConn struct {
	net.Conn
	writes atomic.Int64
	broken atomic.Bool
}

var errBroken = errors.New("broken")

func (c *countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	if c.broken.Load() {
		return 0, errBroken
	}
	return c.Conn.Write(p)
}

// corkedPair is a client's connection by corkedTLS, and what its server reads.
func corkedPair(t *testing.T) (client net.Conn, under *countedConn, got *bytes.Buffer, ended func()) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	near, far := net.Pipe()
	got = &bytes.Buffer{}
	var wg sync.WaitGroup
	wg.Go(func() {
		s := tls.Server(far, &tls.Config{NextProtos: []string{"h2"}, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
		_, _ = io.Copy(got, s)
		_ = far.Close()
	})
	under = &countedConn{Conn: near}
	config := &tls.Config{RootCAs: roots, ServerName: "localhost"}
	client, info, err := newCorkedTLS(func() *tls.Config { return config }).ClientHandshake(t.Context(), "ignored", under)
	if err != nil || info == nil {
		t.Fatal(err)
	}
	return client, under, got, wg.Wait
}

func TestCorkedTLSWritesAtOnce(t *testing.T) {
	client, under, got, ended := corkedPair(t)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 16<<10) // 16 full records
	if _, err := client.Write(make([]byte, 256<<10)); err != nil {
		t.Fatal(err) // TLS begins with small records
	}
	before := under.writes.Load()
	if n, err := client.Write(sent); n != len(sent) || err != nil {
		t.Fatalf("wrote %d, %v", n, err)
	}
	if n := under.writes.Load() - before; n != 1 {
		t.Errorf("%d writes for one", n)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	ended()
	if all := got.Bytes(); !bytes.HasSuffix(all, sent) || len(all) != 256<<10+len(sent) {
		t.Errorf("%d bytes arrived, want %d", len(all), 256<<10+len(sent))
	}
}

// Once a write has failed, nothing that the caller believes sent is kept for a
// later one.
func TestCorkedTLSReportsAFailedWrite(t *testing.T) {
	client, under, _, ended := corkedPair(t)
	under.broken.Store(true)
	if _, err := client.Write([]byte("lost")); !errors.Is(err, errBroken) {
		t.Errorf("a write over a broken connection: %v", err)
	}
	_ = under.Close()
	ended()
}
