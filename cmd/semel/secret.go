package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/semel-dev/semel"
)

// minSecret is the shortest secret that is accepted, in bytes.
const minSecret = 16

// secretFor returns the secret that keys credential scopes and derived keys.
// Without a file of its own it lies beside the store, where processes that
// share the store find it as well: they must agree on it, and a new one would
// make every retry a stranger's.
func secretFor(file string, store *opened) ([]byte, error) {
	path, isFile := strings.CutPrefix(store.name, "sqlite:")
	switch {
	case file != "":
		return readSecret(file)
	case !isFile: // forgotten with the keys
		secret := make([]byte, 32)
		rand.Read(secret)
		return secret, nil
	}
	// By whatever name the store is opened, its secret is one.
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	path += ".secret"
	secret, err := readSecret(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	if err := store.mayGetSecret(path); err != nil {
		return nil, err
	}
	if err := makeSecret(path); err != nil {
		return nil, err
	}
	return readSecret(path)
}

// mayGetSecret refuses a new secret to a store that has keys: the one that made
// their scopes is missing, and under another every retry would be a stranger's.
func (o *opened) mayGetSecret(path string) error {
	lister, ok := o.Store.(semel.Lister)
	if !ok {
		return nil
	}
	page, err := lister.List(context.Background(), semel.Filter{Limit: 1})
	if err != nil {
		return err
	}
	if len(page.Records) > 0 {
		return fmt.Errorf("the store has keys, but its secret %s is gone: put it back, or name the one in use by secret_file; with another one, retries of what is done would run again", path)
	}
	return nil
}

func readSecret(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	secret := bytes.TrimRight(text, "\r\n")
	if len(secret) < minSecret {
		return nil, fmt.Errorf("the secret in %s has %d bytes: %d are needed", file, len(secret), minSecret)
	}
	return secret, nil
}

// makeSecret writes a new secret whole or not at all. If another process is
// faster, its secret stands.
func makeSecret(path string) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".secret-*") // nobody else may read it
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }() // a link to it stays
	bits := make([]byte, 32)
	rand.Read(bits)
	_, err = fmt.Fprintln(temp, hex.EncodeToString(bits))
	if err := errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
