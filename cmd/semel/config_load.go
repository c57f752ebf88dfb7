package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/semel-dev/semel"
)

// configSource is a configuration and where each part of it comes from.
type configSource struct {
	*config
	file *configFile       // nil: none
	from map[string]string // by path: the flag or the variable that set it
}

// configFlags are the flags that set fields, by name. All other fields are set
// by the environment and the file.
var configFlags = []struct {
	name, path, usage string
}{
	{"upstream", "upstream", "URL that requests are sent to"},
	{"scope", "scope", "whose keys a request uses: credential, header:NAME, jwt:CLAIM, cert or public"},
	{"listen", "listen", "address of the guarded API (default :8080)"},
	{"admin-listen", "admin.listen", "address for health, readiness and metrics, or off (default 127.0.0.1:8081)"},
	{"require-key", "required", "refuse requests without a key"},
	{"observe", "observe", "only watch, and report what would have been done"},
	{"log-level", "log.level", "debug, info, warn or error (default info)"},
}

// bindConfigFlags adds --config and the flags that set fields.
func bindConfigFlags(flags *pflag.FlagSet) {
	flags.String("config", "", "configuration file (default "+defaultConfigFile+" if it exists)")
	for _, f := range configFlags {
		if f.name == "require-key" || f.name == "observe" {
			flags.Bool(f.name, false, f.usage)
			continue
		}
		flags.String(f.name, "", f.usage)
	}
}

// loadConfig puts the configuration together: flags before the environment
// before the file before the defaults.
func loadConfig(flags *pflag.FlagSet) (*configSource, error) {
	c := &configSource{config: defaultConfig(), from: make(map[string]string)}
	name := os.Getenv("SEMEL_CONFIG")
	if f := flags.Lookup("config"); f != nil && f.Changed {
		name = f.Value.String()
	}
	var err error
	if c.file, err = readConfigFile(c.config, name); err != nil {
		return nil, &exitError{exitConfig, err}
	}
	if err := c.readEnvironment(); err != nil {
		return nil, &exitError{exitConfig, err}
	}
	if err := c.readFlags(flags); err != nil {
		return nil, &exitError{exitUsage, err}
	}
	c.resolve()
	return c, nil
}

func (c *configSource) readEnvironment() error {
	for _, f := range configFields() {
		text, ok := os.LookupEnv(f.env)
		if f.env == "" || !ok {
			continue
		}
		if err := f.set(c.config, text); err != nil {
			return fmt.Errorf("%s: %w", f.env, err)
		}
		c.from[f.path] = f.env
	}
	return nil
}

func (c *configSource) readFlags(flags *pflag.FlagSet) error {
	set := func(name, path string) error {
		flag := flags.Lookup(name)
		if flag == nil || !flag.Changed {
			return nil
		}
		for _, f := range configFields() {
			if f.path != path {
				continue
			}
			if err := f.set(c.config, flag.Value.String()); err != nil {
				return fmt.Errorf("--%s: %w", name, err)
			}
		}
		c.from[path] = "--" + name
		return nil
	}
	err := set("store", "store")
	for _, f := range configFlags {
		err = errors.Join(err, set(f.name, f.path))
	}
	return err
}

// misspeltVariables finds variables that look like a field's but are none. They
// are no errors: other programs choose names, too.
func misspeltVariables() (warnings []string) {
	var known []string
	for _, f := range configFields() {
		known = append(known, f.env)
	}
	known = append(known, "SEMEL_CONFIG")
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "SEMEL_") {
			continue
		}
		meant := closest(name, known)
		if meant != "" && meant != name && distance(meant, name) <= 2 {
			warnings = append(warnings, fmt.Sprintf("the environment variable %s is not read; did you mean %s?", name, meant))
		}
	}
	return warnings
}

// fault is an error about one field.
type fault struct {
	path string
	err  error
}

func (f *fault) Error() string { return f.path + ": " + f.err.Error() }

func (f *fault) Unwrap() error { return f.err }

// explain says where the value that an error is about comes from. A mistake on
// the command line is one of usage.
func (c *configSource) explain(err error) error {
	var f *fault
	if !errors.As(err, &f) {
		return &exitError{exitConfig, err}
	}
	why := strings.TrimPrefix(f.err.Error(), semel.ErrInvalid.Error()+": ") // that it is invalid, one sees
	// A route may have inherited the value.
	top := f.path[strings.LastIndexByte(f.path, ']')+1:]
	top = strings.TrimPrefix(top, ".")
	for _, path := range []string{f.path, top} {
		if tk := c.file.token(path); tk != nil && c.from[path] == "" {
			return &exitError{exitConfig, c.file.at(tk, "%s", why)}
		}
		switch from := c.from[path]; {
		case strings.HasPrefix(from, "--"):
			return &exitError{exitUsage, fmt.Errorf("%s: %s", from, why)}
		case from != "":
			return &exitError{exitConfig, fmt.Errorf("%s: %s", from, why)}
		}
	}
	if c.file != nil {
		return &exitError{exitConfig, fmt.Errorf("%s: %s: %s", c.file.name, f.path, why)}
	}
	return &exitError{exitConfig, fmt.Errorf("%s: %s", f.path, why)}
}
