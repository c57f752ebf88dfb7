package main

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/httpkey"
)

// scopeOf applies a scope to a request, with fields given as pairs of name and
// value.
func scopeOf(t *testing.T, scope httpkey.Scope, fields ...string) (string, error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	return scope(r)
}

func TestCredentialScope(t *testing.T) {
	scope := credentialScope([]byte("0123456789abcdef"), []string{"session"})
	a, err := scopeOf(t, scope, "Authorization", "Basic YTpi")
	if err != nil || !strings.HasPrefix(a, credentialPrefix) || strings.Contains(a, "YTpi") {
		t.Fatalf("%q, %v", a, err)
	}
	if b, _ := scopeOf(t, scope, "Authorization", "Basic YTpi", "Cookie", "other=1"); b != a {
		t.Error("a cookie that is not configured counts")
	}
	for name, fields := range map[string][]string{
		"another credential": {"Authorization", "Basic YTpj"},
		"with the cookie":    {"Authorization", "Basic YTpi", "Cookie", "session=1"},
		"the cookie alone":   {"Cookie", "session=1"},
	} {
		if b, err := scopeOf(t, scope, fields...); err != nil || b == a || b == "" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if b, _ := scopeOf(t, credentialScope([]byte("another secret 16"), nil), "Authorization", "Basic YTpi"); b == a {
		t.Error("the secret does not count")
	}
	for name, fields := range map[string][]string{
		"nothing": nil, "empty": {"Authorization", ""}, "two": {"Authorization", "Basic a", "Authorization", "Basic b"},
	} {
		if b, _ := scopeOf(t, scope, fields...); b != "" {
			t.Errorf("%s: %q", name, b)
		}
	}
	token := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256"}`)) + ".e30.c2ln"
	for name, fields := range map[string][]string{
		"bearer": {"Authorization", "Bearer " + token}, "spaces": {"Authorization", "  bearer   " + token}, "cookie": {"Cookie", "session=" + token},
	} {
		if b, err := scopeOf(t, scope, fields...); b != "" || err == nil || !strings.Contains(err.Error(), "jwt:sub") {
			t.Errorf("a token as %s: %q, %v", name, b, err)
		}
	}
	if b, err := scopeOf(t, scope, "Authorization", "Bearer sk_live.abc.def"); b == "" || err != nil {
		t.Errorf("an opaque credential with dots: %v", err)
	}
}

func TestHeaderScope(t *testing.T) {
	scope := headerScope("X-User")
	for want, fields := range map[string][]string{"ann": {"X-User", "ann"}, "bob": {"x-user", " bob "}} {
		if got, err := scopeOf(t, scope, fields...); got != want || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	for _, fields := range [][]string{nil, {"X-User", ""}, {"X-User", "ann", "X-User", "bob"}, {"X-User", "public:"}, {"X-User", "jwt:1:x"}, {"X-User", "\u00a0public:"}} {
		if got, _ := scopeOf(t, scope, fields...); got != "" {
			t.Errorf("%q: %q", fields, got)
		}
	}
}

func TestScopeRules(t *testing.T) {
	m := &scopeMaker{secret: make([]byte, minSecret), tokens: &tokenVerifier{}, clientCA: true}
	for _, rule := range []string{"credential", "header:X-User", "jwt:sub", "cert", "public"} {
		if scope, err := m.make(rule, nil); err != nil || scope == nil {
			t.Errorf("%s: %v", rule, err)
		}
	}
	for _, rule := range []string{"", "Credential", "header:", "header:X User", "header", "jwt:", "jwt", "public:x", "none"} {
		if _, err := m.make(rule, nil); err == nil {
			t.Errorf("%q is accepted", rule)
		}
	}
}

func publicPEM(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

func sign(t *testing.T, alg jose.SignatureAlgorithm, key any, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func writeTemp(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestJWTScope(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pub := publicPEM(t, key.Public())
	v, err := newTokenVerifier(JWT{KeyFile: writeTemp(t, "key.pem", pub), Issuer: "https://id", Audience: "api"})
	if err != nil {
		t.Fatal(err)
	}
	scope := v.scope("sub")
	now := time.Now().Unix()
	claims := func(change ...any) map[string]any {
		c := map[string]any{"iss": "https://id", "sub": "ann", "aud": []string{"api", "x"}, "exp": now + 300, "nbf": now - 5}
		for i := 0; i < len(change); i += 2 {
			name, _ := change[i].(string)
			c[name] = change[i+1]
		}
		return c
	}
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"https://id","sub":"ann","aud":"api"}`)) + "."
	for name, tt := range map[string]struct {
		token string
		good  bool
	}{
		"good":                     {sign(t, jose.RS256, key, claims()), true},
		"expired":                  {sign(t, jose.RS256, key, claims("exp", now-300)), false},
		"not yet valid":            {sign(t, jose.RS256, key, claims("nbf", now+300)), false},
		"algorithm not listed":     {sign(t, jose.PS256, key, claims()), false},
		"none":                     {unsigned, false},
		"public key as the secret": {sign(t, jose.HS256, []byte(pub), claims()), false},
		"another key":              {sign(t, jose.RS256, other, claims()), false},
		"another issuer":           {sign(t, jose.RS256, key, claims("iss", "https://evil")), false},
		"another audience":         {sign(t, jose.RS256, key, claims("aud", "web")), false},
		"no subject":               {sign(t, jose.RS256, key, claims("sub", nil)), false},
		"a subject that is a list": {sign(t, jose.RS256, key, claims("sub", []string{"ann"})), false},
		"no token":                 {"x.y.z", false},
	} {
		got, err := scopeOf(t, scope, "Authorization", "Bearer "+tt.token)
		if tt.good && (err != nil || got != "jwt:"+semel.Join("https://id", "ann")) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if !tt.good && (got != "" || err == nil) {
			t.Errorf("%s is accepted as %q", name, got)
		}
	}
	for _, fields := range [][]string{nil, {"Authorization", "Basic YTpi"}} {
		if got, err := scopeOf(t, scope, fields...); got != "" || err == nil {
			t.Errorf("%q: %q", fields, got)
		}
	}
}

// The retry with the next token finds the first one's key.
func TestJWTScopeOutlivesTheToken(t *testing.T) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	v, err := newTokenVerifier(JWT{KeyFile: writeTemp(t, "key.pem", publicPEM(t, key.Public()))})
	if err != nil {
		t.Fatal(err)
	}
	first, err := scopeOf(t, v.scope("tenant"), "Authorization", "Bearer "+sign(t, jose.EdDSA, key, map[string]any{"tenant": 42, "jti": "1"}))
	second, _ := scopeOf(t, v.scope("tenant"), "Authorization", "Bearer "+sign(t, jose.EdDSA, key, map[string]any{"tenant": 42, "jti": "2"}))
	if err != nil || first == "" || first != second {
		t.Errorf("%q and %q, %v", first, second, err)
	}
}

func TestJWKSFile(t *testing.T) {
	one, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	two, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	set := func(keys ...jose.JSONWebKey) string {
		text, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	public := func(id string, k *ecdsa.PrivateKey) jose.JSONWebKey {
		return jose.JSONWebKey{Key: k.Public(), KeyID: id, Algorithm: "ES256", Use: "sig"}
	}
	file := writeTemp(t, "jwks.json", set(public("1", one)))
	v, err := newTokenVerifier(JWT{JWKSFile: file})
	if err != nil {
		t.Fatal(err)
	}
	token := func(id string, k *ecdsa.PrivateKey) string {
		return sign(t, jose.ES256, jose.JSONWebKey{Key: k, KeyID: id}, map[string]any{"sub": "ann"})
	}
	try := func(raw string) bool {
		got, _ := scopeOf(t, v.scope("sub"), "Authorization", "Bearer "+raw)
		return got != ""
	}
	if !try(token("1", one)) || try(token("2", two)) || try(token("1", two)) {
		t.Error("the wrong tokens are believed")
	}
	// A new set is used without a restart; a broken one is not.
	later := time.Now().Add(time.Minute)
	replace := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		later = later.Add(time.Minute)
		if err := os.Chtimes(file, later, later); err != nil {
			t.Fatal(err)
		}
		v.checked = v.checked.Add(-time.Hour)
	}
	replace(set(public("2", two)))
	if try(token("1", one)) || !try(token("2", two)) {
		t.Error("the new key set is not used")
	}
	replace("{")
	if !try(token("2", two)) {
		t.Error("a broken file takes the keys away")
	}
	for name, text := range map[string]string{
		"empty": set(), "private": set(jose.JSONWebKey{Key: one, KeyID: "1"}), "secret": set(jose.JSONWebKey{Key: []byte("0123456789abcdef0123456789abcdef")}), "no set": "[]",
	} {
		if _, err := newTokenVerifier(JWT{JWKSFile: writeTemp(t, "jwks.json", text)}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestTokenKeysThatAreRefused(t *testing.T) {
	small, _ := rsa.GenerateKey(rand.Reader, 1024)
	good, _ := rsa.GenerateKey(rand.Reader, 2048)
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(good)})
	pub := publicPEM(t, good.Public())
	for name, c := range map[string]JWT{
		"public key as a secret":  {KeyFile: writeTemp(t, "k", pub), Algorithms: []string{"HS256"}},
		"both kinds":              {KeyFile: writeTemp(t, "k", pub), Algorithms: []string{"HS256", "RS256"}},
		"secret without its kind": {KeyFile: writeTemp(t, "k", strings.Repeat("s", 40))},
		"short secret":            {KeyFile: writeTemp(t, "k", "short"), Algorithms: []string{"HS256"}},
		"private key":             {KeyFile: writeTemp(t, "k", string(private))},
		"none":                    {KeyFile: writeTemp(t, "k", pub), Algorithms: []string{"none"}},
		"missing file":            {KeyFile: filepath.Join(t.TempDir(), "k")},
		"two files":               {KeyFile: writeTemp(t, "k", pub), JWKSFile: "x"},
		"short RSA key":           {KeyFile: writeTemp(t, "k", publicPEM(t, small.Public()))},
	} {
		if _, err := newTokenVerifier(c); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	secret := strings.Repeat("s", 40)
	v, err := newTokenVerifier(JWT{KeyFile: writeTemp(t, "k", secret+"\n"), Algorithms: []string{"HS256"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := scopeOf(t, v.scope("sub"), "Authorization", "Bearer "+sign(t, jose.HS256, []byte(secret), map[string]any{"sub": "ann"})); err != nil || got == "" {
		t.Errorf("a token by secret: %v", err)
	}
}

func TestCertScope(t *testing.T) {
	request := func(leaf *x509.Certificate) *http.Request {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		r.TLS = &tls.ConnectionState{}
		if leaf != nil {
			r.TLS.VerifiedChains = [][]*x509.Certificate{{leaf}}
		}
		return r
	}
	named := func(subject string, uris ...string) *x509.Certificate {
		c := &x509.Certificate{Subject: pkix.Name{CommonName: subject}, RawSubject: []byte(subject)}
		for _, u := range uris {
			c.URIs = append(c.URIs, &url.URL{Scheme: "spiffe", Host: u})
		}
		return c
	}
	seen := make(map[string]bool)
	for _, c := range []*x509.Certificate{named("ann"), named("bob"), named("", "ann"), named("ann", "ann")} {
		got, err := certScope(request(c))
		if err != nil || !strings.HasPrefix(got, certPrefix) || seen[got] {
			t.Errorf("%v: %q, %v", c.Subject, got, err)
		}
		seen[got] = true
	}
	renewed := named("ann")
	renewed.PublicKey = "another"
	if got, _ := certScope(request(renewed)); !seen[got] {
		t.Error("a renewed certificate is somebody else's")
	}
	for _, r := range []*http.Request{request(nil), request(named("")), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)} {
		if got, _ := certScope(r); got != "" {
			t.Errorf("%q for nobody", got)
		}
	}
}

func TestSecretBesideTheStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.db")
	store, err := openStore(t.Context(), file, true)
	if err != nil {
		t.Fatal(err)
	}
	defer store.close()
	secrets := make(chan string, 8)
	for range cap(secrets) {
		go func() {
			s, err := secretFor("", store)
			if err != nil {
				t.Error(err)
			}
			secrets <- string(s)
		}()
	}
	first := <-secrets
	for range cap(secrets) - 1 {
		if next := <-secrets; next != first || len(next) < minSecret {
			t.Errorf("%q and %q: those who share a store share its secret", first, next)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".secret-*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if info, err := os.Stat(file + ".secret"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the secret: %v", info.Mode())
	}
	if _, err := secretFor(writeTemp(t, "short", "short\n"), store); err == nil {
		t.Error("a short secret is accepted")
	}
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if s, err := secretFor("", &opened{Store: store.Store, name: "sqlite:" + link}); err != nil || string(s) != first {
		t.Errorf("by another name the store has another secret: %q, %v", s, err)
	}
}

// Under another secret every caller would be a stranger, and what is done would
// run again.
func TestStoreWithKeysGetsNoNewSecret(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.db")
	store, err := openStore(t.Context(), file, true)
	if err != nil {
		t.Fatal(err)
	}
	defer store.close()
	if _, err := secretFor("", store); err != nil {
		t.Fatal(err)
	}
	keeper, err := semel.New(store.Store, nil)
	if err != nil {
		t.Fatal(err)
	}
	lease, _, err := keeper.Claim(t.Context(), semel.Key{Scope: "s", ID: "k"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Complete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file + ".secret"); err != nil {
		t.Fatal(err)
	}
	if _, err := secretFor("", store); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("a new secret was made: %v", err)
	}
}
