package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// app is what the commands share.
type app struct {
	in    io.Reader
	out   io.Writer
	err   io.Writer
	store string // --store
	json  bool   // --json
}

// run carries out one command line and returns the process's exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	a := &app{in: in, out: out, err: errs}
	root := a.root() //nolint:contextcheck // cobra hands the context on
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{exitUsage, err} // cobra's own errors are about the command line
	}
	if exit.err != nil {
		fmt.Fprintf(errs, "semel: %v\n", exit.err)
	}
	return exit.code
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "semel",
		Short:         "Each unit of work takes effect once, whatever repeats it",
		Long:          "semel keeps work from taking effect twice. It answers, safely and concurrently:\nhas this already been processed?",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.PersistentFlags().StringVar(&a.store, "store", "", "where the keys are: a file, sqlite:FILE or memory: (default "+defaultStoreHelp+")")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print JSON on standard output")
	root.AddCommand(a.serveCommand(), a.configCommand(), a.demoCommand(), a.demoAPICommand(), a.versionCommand())
	return root
}
