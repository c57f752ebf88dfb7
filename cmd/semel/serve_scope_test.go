package main_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// issue makes a certificate for a name, signed by a parent or by itself.
func issue(t *testing.T, name string, parent *tls.Certificate) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: parent == nil, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	issuer, signer := template, any(key)
	if parent != nil {
		issuer, signer = parent.Leaf, parent.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func certPEM(c *tls.Certificate) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}))
}

func keyPEM(t *testing.T, c *tls.Certificate) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// Mutual TLS: the holder of a certificate has its keys, also after its renewal.
func TestServeCertScope(t *testing.T) {
	u := newUpstream(t)
	ca := issue(t, "authority", nil)
	server := issue(t, "server", ca)
	s := serve(t, "--config", writeFile(t, "semel.yaml", "upstream: "+u.URL+"\nscope: cert\ntls:\n"+
		"  cert_file: "+writeFile(t, "cert.pem", certPEM(server))+"\n"+
		"  key_file: "+writeFile(t, "key.pem", keyPEM(t, server))+"\n"+
		"  client_ca_file: "+writeFile(t, "ca.pem", certPEM(ca))+"\n"))
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	charge := func(cert *tls.Certificate) (status int, replayed bool) {
		c := &tls.Config{RootCAs: roots, ServerName: "localhost"}
		if cert != nil {
			c.Certificates = []tls.Certificate{*cert}
		}
		req, _ := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, strings.Replace(s.url, "http:", "https:", 1), http.NoBody)
		req.Header.Set("Idempotency-Key", "k")
		resp, err := (&http.Transport{TLSClientConfig: c, DisableKeepAlives: true, ForceAttemptHTTP2: true}).RoundTrip(req)
		if err != nil {
			return 0, false
		}
		defer resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("Idempotent-Replayed") == "true"
	}
	for _, tt := range []struct {
		name     string
		cert     *tls.Certificate
		status   int
		replayed bool
	}{
		{"ann", issue(t, "ann", ca), 201, false},
		{"ann with a new certificate", issue(t, "ann", ca), 201, true},
		{"bob", issue(t, "bob", ca), 201, false},
		{"nobody", nil, 401, false},
		{"mallory, by another authority", issue(t, "ann", issue(t, "authority", nil)), 0, false},
	} {
		status, replayed := charge(tt.cert)
		// Go's client keeps a certificate that the server's list does not name to itself.
		refused := tt.status == 0 && status == 401
		if status != tt.status && !refused || replayed != tt.replayed {
			t.Errorf("%s: %d, replayed %v", tt.name, status, replayed)
		}
	}
	if u.ran.Load() != 2 {
		t.Errorf("executed %d times", u.ran.Load())
	}
}

func TestServeJWTScope(t *testing.T) {
	u := newUpstream(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	pub := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	token := func(claims map[string]any) string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := jwt.Signed(signer).Claims(claims).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + raw
	}
	now := time.Now().Unix()
	s := serve(t, "--config", writeFile(t, "semel.yaml", "upstream: "+u.URL+"\nscope: jwt:sub\njwt:\n  key_file: "+writeFile(t, "key.pem", pub)+"\n"))
	for _, tt := range []struct {
		claims map[string]any
		status int
		ran    int64
	}{
		{map[string]any{"iss": "id", "sub": "ann", "exp": now + 60}, 201, 1},
		{map[string]any{"iss": "id", "sub": "ann", "exp": now + 90}, 201, 1}, // the next token
		{map[string]any{"iss": "id", "sub": "bob", "exp": now + 60}, 201, 2},
		{map[string]any{"iss": "other", "sub": "ann", "exp": now + 60}, 201, 3},
		{map[string]any{"iss": "id", "sub": "ann", "exp": now - 300}, 401, 3},
		{map[string]any{"iss": "id", "exp": now + 60}, 401, 3},
	} {
		r := send(t, http.MethodPost, s.url+"/charges", "Authorization", token(tt.claims), "Idempotency-Key", "k")
		if r.status != tt.status || u.ran.Load() != tt.ran {
			t.Errorf("%v: %v, executed %d times", tt.claims, r, u.ran.Load())
		}
	}
	// As a credential, the token is refused with the advice.
	s = serve(t, "--upstream", u.URL, "--scope", "credential")
	r := send(t, http.MethodPost, s.url+"/charges", "Authorization", token(map[string]any{"sub": "ann"}), "Idempotency-Key", "k")
	if r.status != 401 || !strings.Contains(r.body, "scope-unresolved") || !strings.Contains(r.body, "jwt:sub") {
		t.Errorf("%v", r)
	}
}
