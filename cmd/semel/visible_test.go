package main

import (
	"encoding/json"
	"os/exec"
	"testing"
	"time"
)

// awkward are texts that could command a terminal or pass for another one.
var awkward = []string{
	"plain", "", "-", "a b", `"quoted"`, "it's", "$HOME `id`", "a\r\nb", "\x1b[31mred", "\u0085\u009b31m",
	"\u202egnp.exe", "a\u200bb", "zero\ufeffwidth", "é", "日本", "\U0001f600", "\U000e0041", "back\\slash", "tab\t", "\x7f", "bad\xffbyte",
}

func TestVisible(t *testing.T) {
	seen := make(map[string]string)
	for _, s := range awkward {
		v := visible(s)
		for _, r := range v {
			if hidden(r) {
				t.Errorf("visible(%q) = %q", s, v)
			}
		}
		if other, ok := seen[v]; ok {
			t.Errorf("%q and %q are both shown as %s", s, other, v)
		}
		seen[v] = s
	}
}

func TestShellWord(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range awkward {
		cmd := exec.CommandContext(t.Context(), bash, "-c", "printf %s "+shellWord(s))
		cmd.Env = []string{"LC_ALL=C.UTF-8"}
		out, err := cmd.Output()
		if err != nil || string(out) != s {
			t.Errorf("%q as %s is %q, %v", s, shellWord(s), out, err)
		}
	}
}

func TestEscapeJSON(t *testing.T) {
	for _, s := range awkward {
		in, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		out := escapeJSON(in)
		var want, got string
		if json.Unmarshal(in, &want) != nil || json.Unmarshal(out, &got) != nil || got != want {
			t.Errorf("%s has become %s", in, out)
		}
		for _, r := range string(out) {
			if hidden(r) && r != '\ufffd' {
				t.Errorf("%s shows %q", out, r)
			}
		}
	}
}

func TestSpans(t *testing.T) {
	const day = 24 * time.Hour
	tests := []struct {
		d          time.Duration
		span, left string
	}{
		{0, "0ms", "0ms"},
		{999 * time.Millisecond, "999ms", "999ms"},
		{time.Second, "1s", "1s"},
		{59*time.Second + 1, "59s", "1m"},
		{90 * time.Second, "1m", "2m"},
		{time.Hour - 1, "59m", "1h"},
		{47*time.Hour + 1, "47h", "2d"},
		{2 * day, "2d", "2d"},
		{30*day - time.Minute, "29d", "30d"},
	}
	for _, tt := range tests {
		if span(tt.d) != tt.span || left(tt.d) != tt.left {
			t.Errorf("%v: span %s, left %s; want %s, %s", tt.d, span(tt.d), left(tt.d), tt.span, tt.left)
		}
	}
	if from(-5*time.Minute) != "5m ago" || from(5*time.Minute) != "in 5m" {
		t.Errorf("from: %s, %s", from(-5*time.Minute), from(5*time.Minute))
	}
}
