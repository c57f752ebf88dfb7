package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
)

// command runs a command line in this process.
func command(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// Each file of testdata/config is checked; beside it is what is said of it.
func TestConfigFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/config/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	t.Chdir("testdata/config")
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			code, out, errs := command(t, "config", "check", "--config", name)
			golden(t, strings.TrimSuffix(name, ".yaml")+".golden", fmt.Sprintf("%s%sexit code %d\n", out, errs, code))
			if valid := name == "valid.yaml"; valid != (code == exitOK) {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

func TestConfigShow(t *testing.T) {
	t.Chdir("testdata/config")
	_, out, errs := command(t, "config", "show", "--config", "valid.yaml")
	golden(t, "show.golden", out+errs)
	if strings.Contains(out, "hunter2") || strings.Contains(out, "secret@") {
		t.Error("a secret is shown")
	}
	// What is shown is a configuration, and the one that is in force.
	again := defaultConfig()
	if err := yaml.UnmarshalWithOptions([]byte(out), again, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	again.resolve()
	text, err := yaml.Marshal(again)
	if err != nil || string(text) != out {
		t.Errorf("shown again, with %v:\n%s", err, text)
	}
	code, out, _ := command(t, "config", "show", "--config", "valid.yaml", "--json")
	if code != 0 || !json.Valid([]byte(out)) {
		t.Errorf("code %d, JSON %s", code, out)
	}
}

func TestConfigSchema(t *testing.T) {
	_, out, _ := command(t, "config", "schema")
	golden(t, "testdata/config/schema.json", out)
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(out), &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for text, valid := range map[string]bool{
		"{}": true,
		"upstream: http://x\nwindow: 30d\nroutes: [{pattern: /, scope: public, max_request: 64KiB, wait: 1m30s}]": true,
		"lisen: x":          false,
		"window: 30 days":   false,
		"routes: [{}]":      false,
		"required: perhaps": false,
	} {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); (err == nil) != valid {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestConfigPrecedence(t *testing.T) {
	t.Chdir("testdata/config")
	t.Setenv("SEMEL_LISTEN", ":1")
	t.Setenv("SEMEL_ADMIN_LISTEN", "127.0.0.1:2")
	t.Setenv("SEMEL_NOT_PROCESSED", "503, 409")
	t.Setenv("SEMEL_WAIT", "9s")
	code, out, errs := command(t, "config", "show", "--json", "--config", "valid.yaml", "--listen", ":3", "--require-key")
	if code != 0 {
		t.Fatal(errs)
	}
	c := new(config)
	if err := json.Unmarshal([]byte(out), c); err != nil {
		t.Fatal(err)
	}
	if c.Listen != ":3" {
		t.Errorf("listen %s: a flag is before the environment", c.Listen)
	}
	if c.Admin.Listen != "127.0.0.1:2" || time.Duration(c.Window) != 45*day || time.Duration(c.Lease) != 30*time.Second {
		t.Errorf("admin %s, window %v, lease %v: the environment is before the file, the file before the defaults", c.Admin.Listen, c.Window, c.Lease)
	}
	if !reflect.DeepEqual(c.Routes[0].NotProcessed, []int{503, 409}) || !*c.Routes[1].Required {
		t.Errorf("routes inherit %v %v", c.Routes[0].NotProcessed, *c.Routes[1].Required)
	}
	if c.Routes[0].Wait.String() != "9s" || c.Routes[1].Wait.String() != "0s" {
		t.Errorf("wait %v and %v: a route's own setting is before the top's", c.Routes[0].Wait, c.Routes[1].Wait)
	}
}

// Each field outside of lists can be set by its variable.
func TestEveryVariable(t *testing.T) {
	samples := map[reflect.Kind]string{
		reflect.String: "x", reflect.Int: "7", reflect.Bool: "true", reflect.Slice: "7,8", reflect.Int64: "7",
	}
	seen := make(map[string]bool)
	for _, f := range configFields() {
		if seen[f.path] || f.doc == "" {
			t.Errorf("%s: twice, or without a description", f.path)
		}
		seen[f.path] = true
		if f.env == "" {
			continue
		}
		typ := f.typ
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		text := samples[typ.Kind()]
		if typ == reflect.TypeFor[duration]() {
			text = "7s"
		}
		t.Setenv(f.env, text)
		c := &configSource{config: defaultConfig(), from: make(map[string]string)}
		if err := c.readEnvironment(); err != nil {
			t.Errorf("%s: %v", f.env, err)
		}
		if got := f.find(c.config, false); !got.IsValid() || got.IsZero() {
			t.Errorf("%s sets nothing", f.env)
		}
	}
}

func TestFaultsNameTheirOrigin(t *testing.T) {
	t.Chdir("testdata/config")
	t.Setenv("SEMEL_GUARANTEE", "exactly-once")
	code, _, errs := command(t, "config", "check", "--upstream", "http://x", "--scope", "public")
	if code != exitConfig || !strings.Contains(errs, "SEMEL_GUARANTEE: ") {
		t.Errorf("code %d: %s", code, errs)
	}
	code, _, errs = command(t, "config", "check", "--upstream", "http://x", "--scope", "nobody")
	if code != exitConfig && code != exitUsage {
		t.Errorf("code %d: %s", code, errs)
	}
	t.Setenv("SEMEL_GUARANTEE", "at-most-once")
	code, _, errs = command(t, "config", "check", "--upstream", "http://x", "--scope", "nobody")
	if code != exitUsage || !strings.Contains(errs, "--scope: ") {
		t.Errorf("code %d: %s", code, errs)
	}
}

func TestMisspeltVariables(t *testing.T) {
	t.Setenv("SEMEL_LISTN", ":1")
	t.Setenv("SEMEL_SERVICE_HOST", "10.0.0.1") // what Kubernetes sets for a service of that name
	found := misspeltVariables()
	if len(found) != 1 || !strings.Contains(found[0], "SEMEL_LISTN is not read; did you mean SEMEL_LISTEN?") {
		t.Errorf("%q", found)
	}
}

func TestUnits(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"500ms": 500 * time.Millisecond, "72h": 3 * day, "30d": 30 * day, "1d12h": 36 * time.Hour, "0s": 0, "0d": 0,
	} {
		var d, again duration
		if err := d.UnmarshalText([]byte(text)); err != nil || time.Duration(d) != want {
			t.Errorf("%s is %v, %v", text, d, err)
		}
		if err := again.UnmarshalText([]byte(d.String())); err != nil || again != d {
			t.Errorf("%s is written %s, which is read as %v, %v", text, d, again, err)
		}
	}
	for _, text := range []string{"", "30", "d", "-1s", "1d-1h", "30 days", "999999999999d", "1h1d"} {
		var d duration
		if err := d.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, d)
		}
	}
	for text, want := range map[string]byteSize{"0": 0, "1": 1, "64KiB": 64 << 10, "2MB": 2e6, "1 GiB": 1 << 30, "7B": 7} {
		var s, again byteSize
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%s is %v, %v", text, s, err)
		}
		if err := again.UnmarshalText([]byte(s.String())); err != nil || again != s {
			t.Errorf("%s is written %s, which is read as %v, %v", text, s, again, err)
		}
	}
	for _, text := range []string{"", "-1", "KiB", "1.5MiB", "1 Mio", "9999999999GiB"} {
		var s byteSize
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, s)
		}
	}
}
