package source

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// config is what connections are accepted with.
func (t *TLS) config() (*tls.Config, error) {
	pair, err := tls.X509KeyPair([]byte(t.Cert), []byte(t.Key))
	if err != nil {
		return nil, errors.New("cert and key are no pair of a certificate and its key in PEM. file() reads one from a file")
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if t.ClientCA != "" {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		if !c.ClientCAs.AppendCertsFromPEM([]byte(t.ClientCA)) {
			return nil, errors.New("client_ca holds no certificate in PEM")
		}
	}
	return c, nil
}
