package main

import (
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Check, show and describe the configuration",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.configCheckCommand(), a.configShowCommand(), a.configSchemaCommand())
	return c
}

func (a *app) configCheckCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "check",
		Short:   "Check the configuration, and print what each route guarantees",
		Long:    "check reads the file, the environment and the flags as serve does, and finds the\nmistakes that serve would refuse. It opens neither the store nor the upstream.",
		Example: "  semel config check --config semel.yaml",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := loadConfig(c.Flags())
			if err != nil {
				return err
			}
			if err := cfg.verify(); err != nil {
				return cfg.explain(err)
			}
			routes := cfg.shown()
			return a.print(routes, "%sthe configuration is in order\n", routesText(routes))
		},
	}
	bindConfigFlags(c.Flags())
	return c
}

func (a *app) configShowCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "show",
		Short:   "Print the configuration in force, without secrets",
		Long:    "show prints what holds after flags, environment, file and defaults, each route\nwith all of its settings. Fields that are not set are left out.",
		Example: "  semel config show --config semel.yaml",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := loadConfig(c.Flags())
			if err != nil {
				return err
			}
			shown := cfg.redact()
			text, err := yaml.Marshal(shown)
			if err != nil {
				return err
			}
			return a.print(shown, "%s", text)
		},
	}
	bindConfigFlags(c.Flags())
	return c
}

func (a *app) configSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of the configuration file",
		Example: "  semel config schema > semel.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := configSchema()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.out, "%s\n", schema)
			return err
		},
	}
}
