package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// exitCodes are what every command ends with, for people.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitOK, "done"},
	{exitFindings, "the command ran, and what it found is not in order"},
	{exitUsage, "the command line is wrong; nothing was done"},
	{exitData, "the input is wrong: a file, a key, a settlement that is refused"},
	{exitNotFound, "the store knows nothing of the key, or keeps no answer"},
	{exitUnavailable, "the store or the upstream does not answer, or an address is taken"},
	{exitTempFail, "somebody else holds the key, or it is in doubt: try again later"},
	{exitConfig, "the configuration is wrong"},
}

// exitCodesTopic is a page of help, not a command.
func exitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("Every command ends with one of these codes:\n\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&b, "  %3d  %s\n", c.code, c.meaning)
	}
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: strings.TrimSpace(b.String())}
}
