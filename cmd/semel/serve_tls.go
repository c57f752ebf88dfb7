package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
)

// load returns the TLS settings, or nil if there are none. Clients may do
// without a certificate: routes with another scope rule do not need it.
func (t *TLS) load() (*tls.Config, error) {
	if t.CertFile == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return nil, &fault{"tls.cert_file", err}
	}
	c := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if t.ClientCAFile == "" {
		return c, nil
	}
	text, err := os.ReadFile(t.ClientCAFile)
	if err != nil {
		return nil, &fault{"tls.client_ca_file", err}
	}
	c.ClientCAs = x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(text) {
		return nil, &fault{"tls.client_ca_file", errors.New("the file has no certificate")}
	}
	c.ClientAuth = tls.VerifyClientCertIfGiven
	return c, nil
}

func tlsListener(l net.Listener, c *tls.Config) net.Listener { return tls.NewListener(l, c) }
