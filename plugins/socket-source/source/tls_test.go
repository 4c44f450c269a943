package source

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// certificate is one that vouches for itself.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	pkcs, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs}))
}

// TestTLS: a peer that shows a certificate is taken, one that shows none, or
// speaks no TLS, is not.
func TestTLS(t *testing.T) {
	cert, key := certificate(t)
	clientCert, clientKey := certificate(t)
	address := freeAddress(t)
	h := newHost(t).open(`"listen":%q,"resume":true,"handshake_timeout":"500ms","tls":{"cert":%q,"key":%q,"client_ca":%q}`, address, cert, key, clientCert)
	dial(t, "tcp", address).expectEnd()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(cert))
	stranger := tls.Client(dial(t, "tcp", address), &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"})
	(&client{stranger, t, bufio.NewReader(stranger)}).expectEnd()
	pair, err := tls.X509KeyPair([]byte(clientCert), []byte(clientKey))
	if err != nil {
		t.Fatal(err)
	}
	known := tls.Client(dial(t, "tcp", address), &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", Certificates: []tls.Certificate{pair}})
	c := &client{known, t, bufio.NewReader(known)}
	c.expect("RESUME s 0")
	c.send("OK 0\none\n")
	h.await("one")
	// Reading with a deadline, as it is done while more may come, leaves the
	// connection usable.
	c.send("two\n")
	h.await("one", "two")
}
