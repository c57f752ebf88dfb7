package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const pageNote = "<!-- Made from the commands: go test ./cmd/semel -run TestReference -update -->\n\n"

// TestReference holds the pages that are made from the commands equal to them.
func TestReference(t *testing.T) {
	pages := map[string]string{
		"../../docs/reference/cli.md":        cliPage(),
		"../../docs/reference/exit-codes.md": exitCodesPage(),
	}
	for file, want := range pages {
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what the commands say; if they are right, run go test ./cmd/semel -run TestReference -update", file)
		}
	}
}

func cliPage() string {
	root := new(app).root()
	root.InitDefaultCompletionCmd()
	var b strings.Builder
	b.WriteString("# The command line\n\n" + pageNote)
	b.WriteString("What the commands end with: [exit codes](exit-codes.md). `semel help COMMAND` says\nthe same as this page.\n\n")
	b.WriteString("## Flags of every command\n\n```text\n" + flagLines(root.PersistentFlags()) + "```\n")
	for _, c := range root.Commands() {
		commandPage(&b, c, "##")
	}
	return b.String()
}

func commandPage(b *strings.Builder, c *cobra.Command, level string) {
	if !c.IsAvailableCommand() {
		return
	}
	fmt.Fprintf(b, "\n%s %s\n\n%s.\n", level, c.CommandPath(), c.Short)
	if c.Runnable() {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", c.UseLine())
	}
	if c.Long != "" {
		// Examples of shells in the middle of a text would be taken for Markdown.
		fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.TrimSpace(c.Long))
	}
	if c.HasLocalFlags() {
		fmt.Fprintf(b, "\n```text\n%s```\n", flagLines(c.NonInheritedFlags()))
	}
	if c.Example != "" {
		var lines []string
		for line := range strings.Lines(c.Example) {
			lines = append(lines, strings.TrimPrefix(line, "  "))
		}
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.Join(lines, ""))
	}
	for _, sub := range c.Commands() {
		commandPage(b, sub, level+"#")
	}
}

func flagLines(f *pflag.FlagSet) string { return f.FlagUsagesWrapped(100) }

func exitCodesPage() string {
	var b strings.Builder
	b.WriteString("# Exit codes\n\n" + pageNote)
	b.WriteString("Every command ends with one of these codes. Those above 63 are those of\n`sysexits.h`. `semel help exit-codes` says the same.\n\n")
	b.WriteString("| code | meaning |\n|---|---|\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", c.code, c.meaning)
	}
	return b.String()
}

// Every command that people give says how it is used, by an example.
func TestExamples(t *testing.T) {
	commands := new(app).root().Commands()
	for len(commands) > 0 {
		c := commands[0]
		commands = append(commands[1:], c.Commands()...)
		if c.Runnable() && !c.HasSubCommands() && !c.Hidden && c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
	}
}
