package main

// config is everything that can be configured. The tags are the one source of
// the file's names, the environment's, the schema and the reference: a field
// that is added here is complete.
//
// The settings of a route are also fields of the top, where they hold for every
// route that does not say otherwise.
type config struct {
	Upstream            string   `json:"upstream,omitempty" jsonschema:"where requests go: an http or https URL, optionally with a path that is put before theirs"`
	UpstreamDialTimeout duration `json:"upstream_dial_timeout,omitempty" jsonschema:"bounds the making of a connection to the upstream"`
	UpstreamIdleTimeout duration `json:"upstream_idle_timeout,omitempty" jsonschema:"how long an idle connection is kept; must be shorter than the upstream's own"`
	UpstreamMaxIdle     int      `json:"upstream_max_idle,omitempty" jsonschema:"bounds the idle connections to the upstream"`

	Listen     string   `json:"listen,omitempty" jsonschema:"address of the guarded API"`
	TLS        TLS      `json:"tls,omitzero" jsonschema:"serve the guarded API by TLS"`
	Admin      Admin    `json:"admin,omitzero" jsonschema:"the listener for health, readiness, metrics and what was observed"`
	Grace      duration `json:"grace,omitempty" jsonschema:"how long a shutdown waits for what is in flight"`
	DrainDelay duration `json:"drain_delay,omitempty" jsonschema:"how long a shutdown goes on accepting after readiness has turned to 503"`

	Store        string   `json:"store,omitempty" jsonschema:"where the keys are: a file, sqlite:FILE or memory:"`
	StoreTimeout duration `json:"store_timeout,omitempty" jsonschema:"bounds one call of the store"`
	PruneEvery   duration `json:"prune_every,omitempty" jsonschema:"how often what is no longer remembered is removed"`
	SecretFile   string   `json:"secret_file,omitempty" jsonschema:"file with the secret, at least 16 bytes, that keys credential scopes and derived keys; must not change within a window; made beside a SQLite store if it is not set"`

	JWT         JWT    `json:"jwt,omitzero" jsonschema:"how tokens are verified for the scope rule jwt:CLAIM"`
	MaxNewKeys  int    `json:"max_new_keys,omitempty" jsonschema:"bounds the new keys of one scope within a window, per route and process; 0 for no bound"`
	MaxInDoubt  int    `json:"max_in_doubt,omitempty" jsonschema:"bounds the keys in doubt of one scope; beyond it the scope gets no new keys"`
	ProblemBase string `json:"problem_base,omitempty" jsonschema:"where the types of problem documents begin; a slug is appended"`
	Log         Log    `json:"log,omitzero" jsonschema:"the log on standard error"`

	Settings `yaml:",inline"`

	Routes []Route `json:"routes,omitempty" jsonschema:"the guarded routes; without any there is one for every path"`
}

// Settings are those of a route.
type Settings struct {
	Scope          string    `json:"scope,omitempty" jsonschema:"whose keys a request uses: credential, header:NAME, jwt:CLAIM, cert or public; required"`
	ScopeCookies   []string  `json:"scope_cookies,omitempty" jsonschema:"cookies that are part of the credential, for the scope rule credential"`
	Guarantee      string    `json:"guarantee,omitempty" jsonschema:"at-most-once or at-least-once"`
	OnAmbiguous    string    `json:"on_ambiguous,omitempty" jsonschema:"what becomes of a key whose upstream answered 5xx or 408: replay (default under at-most-once), hold, probe or release (default under at-least-once)"`
	OnStoreError   string    `json:"on_store_error,omitempty" jsonschema:"what requests get when the store does not answer: fail_closed (503) or fail_open (unguarded)"`
	Required       *bool     `json:"required,omitempty" jsonschema:"refuse requests without a key"`
	Observe        *bool     `json:"observe,omitempty" jsonschema:"only watch: every request passes, and the report says what would have been done"`
	Methods        []string  `json:"methods,omitempty" jsonschema:"the guarded methods; all others pass"`
	Window         duration  `json:"window,omitempty" jsonschema:"how long a done key is remembered; must be longer than the longest time after which a client retries"`
	ResultsFor     duration  `json:"results_for,omitempty" jsonschema:"how long answers are kept"`
	Lease          duration  `json:"lease,omitempty" jsonschema:"how long an attempt is held without a sign of life"`
	Wait           *duration `json:"wait,omitempty" jsonschema:"how long a copy waits for the first request"`
	MaxWait        duration  `json:"max_wait,omitempty" jsonschema:"bounds the wait that a client asks for by Prefer: wait=SECONDS"`
	AnswerTimeout  duration  `json:"answer_timeout,omitempty" jsonschema:"how long the client waits for the upstream; then it is told that the outcome is unknown while the upstream goes on"`
	Deadline       duration  `json:"deadline,omitempty" jsonschema:"how long the upstream may take; until then an effect can still happen"`
	MaxRequest     byteSize  `json:"max_request,omitempty" jsonschema:"bounds the body of a guarded request"`
	MaxResponse    byteSize  `json:"max_response,omitempty" jsonschema:"bounds the body of an answer that is kept; longer ones pass"`
	NotProcessed   []int     `json:"not_processed,omitempty" jsonschema:"statuses by which the upstream says that it did nothing, beside 401 403 407 413 414 421 425 426 429 431"`
	StoredHeaders  []string  `json:"stored_headers,omitempty" jsonschema:"fields that are kept with an answer beside the built-in list"`
	CompareHeaders []string  `json:"compare_headers,omitempty" jsonschema:"fields that tell a retry from a reused key, beside method, path, query, media type and body"`
	Forward        string    `json:"forward,omitempty" jsonschema:"what the upstream sees of the key: nothing, derived (a key of its own) or same"`
	KeyPattern     string    `json:"key_pattern,omitempty" jsonschema:"regular expression that must match the whole key"`
	MinKeyBytes    int       `json:"min_key_bytes,omitempty" jsonschema:"refuses shorter keys"`
	Strict         *bool     `json:"strict,omitempty" jsonschema:"accept a key only as a quoted string"`
	Probe          *Probe    `json:"probe,omitempty" jsonschema:"asks the upstream about keys in doubt"`
}

// Route is one guarded route.
type Route struct {
	Pattern  string `json:"pattern" jsonschema:"as Go's http.ServeMux has it: / or POST /charges or /accounts/{id}/"`
	Name     string `json:"name,omitempty" jsonschema:"name in metrics and logs; the pattern if it is not set"`
	Settings `yaml:",inline"`
}

// Probe is how the upstream is asked about a key in doubt.
type Probe struct {
	Path         string            `json:"path" jsonschema:"path and query of a GET; {key}, {scope} and {path} are filled in"`
	Happened     []int             `json:"happened,omitempty" jsonschema:"statuses that mean it happened; 200 if none is set"`
	DidNotHappen []int             `json:"did_not_happen,omitempty" jsonschema:"statuses that mean it did not; 404 if none is set"`
	Timeout      duration          `json:"timeout,omitempty" jsonschema:"bounds the GET; 5s if it is not set"`
	Headers      map[string]string `json:"headers,omitempty" jsonschema:"fields added to the GET, for credentials"`
}

// Admin is the listener that is not for clients.
type Admin struct {
	Listen    string `json:"listen,omitempty" jsonschema:"its address, or off; one that is not a loopback address needs a token"`
	TokenFile string `json:"token_file,omitempty" jsonschema:"file with the bearer token that everything but health and readiness then asks for"`
}

// TLS names the files of a TLS listener.
type TLS struct {
	CertFile     string `json:"cert_file,omitempty" jsonschema:"certificate chain, PEM"`
	KeyFile      string `json:"key_file,omitempty" jsonschema:"its private key, PEM"`
	ClientCAFile string `json:"client_ca_file,omitempty" jsonschema:"authorities for client certificates, PEM; needed for the scope rule cert"`
}

// JWT says which tokens are believed.
type JWT struct {
	KeyFile    string   `json:"key_file,omitempty" jsonschema:"public key, PEM; or the bytes of an HMAC secret, which needs algorithms"`
	JWKSFile   string   `json:"jwks_file,omitempty" jsonschema:"JSON Web Key Set; read anew when it changes"`
	Algorithms []string `json:"algorithms,omitempty" jsonschema:"the accepted algorithms; RS256, ES256 and EdDSA if none is set"`
	Issuer     string   `json:"issuer,omitempty" jsonschema:"the iss that a token must have"`
	Audience   string   `json:"audience,omitempty" jsonschema:"the aud that a token must have"`
}

// Log is how much is logged, and how.
type Log struct {
	Level  string `json:"level,omitempty" jsonschema:"debug (each decision), info, warn or error"`
	Format string `json:"format,omitempty" jsonschema:"text or json"`
}
