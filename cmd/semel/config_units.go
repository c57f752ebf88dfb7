package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// duration is a time.Duration that is written with days as well: 30d, 72h, 1d12h.
type duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *duration) UnmarshalText(text []byte) error {
	given := strings.TrimSpace(string(text))
	bad := fmt.Errorf("%q is no duration: write it like 500ms, 30s, 72h or 30d", given)
	days, rest, found := strings.Cut(given, "d")
	if !found {
		days, rest = "0", given
	}
	n, err := strconv.ParseUint(days, 10, 32)
	if err != nil || n > math.MaxInt64/uint64(day) || given == "" {
		return bad
	}
	var clock time.Duration
	if rest != "" {
		if clock, err = time.ParseDuration(rest); err != nil || clock < 0 {
			return bad
		}
	}
	sum := time.Duration(n)*day + clock
	if sum < clock {
		return bad
	}
	*d = duration(sum)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (d duration) MarshalText() ([]byte, error) { //nolint:unparam // as the interface has it
	return []byte(d.String()), nil
}

// String writes d as short as it can be read again.
func (d duration) String() string {
	days, clock := time.Duration(d)/day, time.Duration(d)%day
	text := clock.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	switch {
	case days == 0:
		return text
	case clock == 0:
		return fmt.Sprintf("%dd", days)
	}
	return fmt.Sprintf("%dd%s", days, text)
}

// byteSize is a number of bytes, written with a unit: 64KiB, 1MiB.
type byteSize int64

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}, {"", 1}}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *byteSize) UnmarshalText(text []byte) error {
	given := strings.TrimSpace(string(text))
	for _, unit := range sizeUnits {
		number, found := strings.CutSuffix(given, unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/unit.bytes {
			break
		}
		*s = byteSize(n * unit.bytes)
		return nil
	}
	return fmt.Errorf("%q is no size: write it like 65536, 64KiB or 1MiB", given)
}

// MarshalText implements encoding.TextMarshaler.
func (s byteSize) MarshalText() ([]byte, error) { //nolint:unparam // as the interface has it
	return []byte(s.String()), nil
}

// String writes s in the largest binary unit that divides it.
func (s byteSize) String() string {
	for _, unit := range sizeUnits[:3] {
		if s != 0 && int64(s)%unit.bytes == 0 {
			return fmt.Sprintf("%d%s", int64(s)/unit.bytes, unit.name)
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
