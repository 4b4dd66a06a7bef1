package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/costs"
	"github.com/grapnel-go/grapnel/internal/inspect"
)

func (c *command) cost() *cobra.Command {
	var o inspect.Costs
	var p place
	cmd := &cobra.Command{
		Use:   "cost",
		Short: "Show what the models have cost",
		Long: "Shows what the models have cost in the project in the working directory, by the prices that were known when they were\n" +
			"asked. With --all, or by project, it shows all projects. A day begins at midnight here.",
		Example: "  grapnel cost --since 7d --by day\n  grapnel cost --all --by project",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			paths, err := c.paths(p)
			if err != nil {
				return err
			}
			o.JSON = p.json
			return inspect.Cost(cmd.Context(), &c.Console, paths, o)
		},
	}
	p.flags(cmd)
	cmd.Flags().StringVar(&o.By, "by", "model", "add up by one of "+strings.Join(costs.Columns(), ", "))
	cmd.Flags().StringVar(&o.Since, "since", "", "the first day, 2026-11-25, or a number of days with today, 7d (default: all)")
	cmd.Flags().BoolVar(&o.All, "all", false, "show all projects")
	return cmd
}
