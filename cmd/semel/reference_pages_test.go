package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/semel-dev/semel/memstore"
)

// The pages about fields and metrics are made from the code between two marks;
// go test -update makes them anew.

func TestConfigurationPage(t *testing.T) {
	var table strings.Builder
	table.WriteString("| field | variable | default | what it is |\n|---|---|---|---|\n")
	defaults := configDefaults()
	for _, f := range configFields() {
		shared := strings.HasPrefix(f.path, "routes[].") && f.path != "routes[].pattern" && f.path != "routes[].name"
		if shared { // the same as at the top
			continue
		}
		variable, value := "", strings.Trim(string(defaults[f.path]), `"`)
		if f.env != "" {
			variable = "`" + f.env + "`"
		}
		if value != "" {
			value = "`" + strings.ReplaceAll(value, `"`, "") + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", f.path, variable, value, f.doc)
	}
	table.WriteString("\nFields from `scope` on are a route's as well: `routes[].scope`, and so on.\n")
	between(t, "../../docs/reference/configuration.md", "fields", table.String())
}

func TestMetricsPage(t *testing.T) {
	m := newMetrics("v0.0.0")
	m.route("/")
	m.registry.MustRegister(newStoreCollector(memstore.New(), time.Second, func(err error) { t.Error(err) }))
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| metric | type | labels | what it counts |\n|---|---|---|---|\n")
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "semel_") {
			continue
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()), labelsOf(f), f.GetHelp())
	}
	table.WriteString("\nThe values of `verdict`, `result` and `op`:\n\n")
	for _, label := range []string{"verdict", "result", "op"} {
		fmt.Fprintf(&table, "- `%s`: %s\n", label, strings.Join(valuesOf(families, label), ", "))
	}
	between(t, "../../docs/reference/metrics.md", "metrics", table.String())
}

func labelsOf(f *dto.MetricFamily) string {
	var names []string
	for _, l := range f.GetMetric()[0].GetLabel() {
		names = append(names, "`"+l.GetName()+"`")
	}
	return strings.Join(names, " ")
}

func valuesOf(families []*dto.MetricFamily, label string) (values []string) {
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == label && strings.HasPrefix(f.GetName(), "semel_") {
					values = append(values, "`"+l.GetValue()+"`")
				}
			}
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// between compares the part of a page between its two marks with text.
func between(t *testing.T, file, mark, text string) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), "<!-- "+mark+" -->\n")
	_, after, closed := strings.Cut(rest, "<!-- /"+mark+" -->\n")
	if !found || !closed {
		t.Fatalf("%s has no part %q", file, mark)
	}
	golden(t, file, before+"<!-- "+mark+" -->\n"+text+"<!-- /"+mark+" -->\n"+after)
}
