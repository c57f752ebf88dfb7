package semel

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
)

// MaxKeyBytes bounds each half of a [Key], in bytes.
const MaxKeyBytes = 255

// Key names a unit of work: Scope says who must not repeat it (a principal, a
// tenant, a consumer), ID what must not be repeated. Both are compared byte
// for byte: case, blanks and Unicode forms make different keys. The zero Key
// is invalid.
type Key struct {
	Scope, ID string
}

// Check returns an error that wraps [ErrInvalid] unless both halves of k are
// 1 to [MaxKeyBytes] bytes long.
func (k Key) Check() error {
	for _, half := range [...]struct{ name, text string }{{"scope", k.Scope}, {"id", k.ID}} {
		switch n := len(half.text); {
		case n == 0:
			return fmt.Errorf("%w: key has no %s", ErrInvalid, half.name)
		case n > MaxKeyBytes:
			return fmt.Errorf("%w: key's %s is %d bytes long, at most %d fit (semel.Join hashes what is longer)", ErrInvalid, half.name, n, MaxKeyBytes)
		}
	}
	return nil
}

// Digest returns the SHA-256 digest of the length-prefixed halves of k. Stores
// use it as their primary key: fixed in size, and exact under every collation.
func (k Key) Digest() [sha256.Size]byte {
	// Sized for the longest valid key, so that it stays on the stack.
	buf := make([]byte, 0, 2*(MaxKeyBytes+4))
	for _, half := range [...]string{k.Scope, k.ID} {
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(half)))
		buf = append(buf, half...)
	}
	return sha256.Sum256(buf)
}

// ClaimID returns the digest of k in hexadecimal: a name for the key that can
// be shown where the key itself must not be.
func (k Key) ClaimID() string {
	d := k.Digest()
	return hex.EncodeToString(d[:])
}

// Join makes one key half of several parts. Each part is preceded by its
// length, so that ("ab", "c") and ("a", "bc") differ; a result longer than
// [MaxKeyBytes] is replaced by its SHA-256 digest, which begins with "sha256:"
// and so never equals a joined text. Empty parts count. Join of nothing is the
// empty string, which no Key accepts.
func Join(parts ...string) string {
	var buf []byte
	for _, p := range parts {
		buf = strconv.AppendInt(buf, int64(len(p)), 10)
		buf = append(buf, ':')
		buf = append(buf, p...)
	}
	if len(buf) > MaxKeyBytes {
		sum := sha256.Sum256(buf)
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	return string(buf)
}
