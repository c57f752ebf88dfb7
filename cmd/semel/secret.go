package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
	path += ".secret"
	secret, err := readSecret(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return secret, err
	}
	if err := makeSecret(path); err != nil {
		return nil, err
	}
	return readSecret(path)
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
