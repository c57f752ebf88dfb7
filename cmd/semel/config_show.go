package main

import (
	"net/url"
	"strings"
)

const redacted = "(redacted)"

// redactURL takes the password, and what else could be a secret, out of a URL.
func redactURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return redacted
	}
	if u.User != nil {
		u.User = url.User(u.User.Username() + ":" + redacted)
	}
	text = u.String()
	return strings.ReplaceAll(text, url.User(":"+redacted).String(), ":"+redacted)
}
