package main

import (
	"net/http"
	"reflect"
	"time"
)

// defaultConfig is what holds if nobody says otherwise. It repeats the
// libraries' defaults, so that semel config show shows them.
func defaultConfig() *config {
	wait := duration(2 * time.Second)
	no := [3]bool{}
	return &config{
		UpstreamDialTimeout: duration(5 * time.Second),
		UpstreamIdleTimeout: duration(3 * time.Second),
		UpstreamMaxIdle:     128,
		Listen:              ":8080",
		Admin:               Admin{Listen: "127.0.0.1:8081"},
		Grace:               duration(30 * time.Second),
		StoreTimeout:        duration(5 * time.Second),
		PruneEvery:          duration(time.Minute),
		MaxInDoubt:          1000,
		Log:                 Log{Level: "info", Format: "text"},
		Settings: Settings{
			Guarantee:      "at-most-once",
			OnStoreError:   "fail_closed",
			Required:       &no[0],
			Observe:        &no[1],
			Strict:         &no[2],
			Methods:        []string{http.MethodPost, http.MethodPatch},
			Window:         duration(30 * 24 * time.Hour),
			ResultsFor:     duration(24 * time.Hour),
			Lease:          duration(30 * time.Second),
			Wait:           &wait,
			MaxWait:        duration(30 * time.Second),
			AnswerTimeout:  duration(30 * time.Second),
			Deadline:       duration(5 * time.Minute),
			MaxRequest:     1 << 20,
			MaxResponse:    1<<20 - 16<<10,
			CompareHeaders: []string{"If-Match"},
			Forward:        "nothing",
			MinKeyBytes:    1,
		},
	}
}

// inherit fills what s does not set from the settings at the top.
func (s *Settings) inherit(top *Settings) {
	mine, theirs := reflect.ValueOf(s).Elem(), reflect.ValueOf(top).Elem()
	for i := range mine.NumField() {
		if mine.Field(i).IsZero() {
			mine.Field(i).Set(theirs.Field(i))
		}
	}
	if s.OnAmbiguous == "" {
		s.OnAmbiguous = map[string]string{"at-most-once": "replay", "at-least-once": "release"}[s.Guarantee]
	}
}

// resolve gives every route all of its settings. What is only a default for
// on_ambiguous depends on each route's guarantee and is not inherited.
func (c *config) resolve() {
	if c.Routes == nil {
		c.Routes = []Route{{Pattern: "/"}}
	}
	for i := range c.Routes {
		c.Routes[i].inherit(&c.Settings)
		if c.Routes[i].Name == "" {
			c.Routes[i].Name = c.Routes[i].Pattern
		}
	}
}
