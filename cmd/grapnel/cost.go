package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/inspect"
)

type costFlags struct {
	place
	by, since  string
	everywhere bool
}

func (c *command) cost() *cobra.Command {
	var f costFlags
	columns := strings.Join(inspect.CostColumns(), ", ")
	cmd := &cobra.Command{
		Use:   "cost",
		Short: "Show what the models have cost",
		Long: "Shows what the models have cost in the project in the working directory, by the prices that were known when they were\n" +
			"asked. With --all, or by project, it shows all projects. A day begins at midnight here.",
		Example: "  grapnel cost --since 7d --by day\n  grapnel cost --all --by project",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.showCost(cmd.Context(), f) },
	}
	f.flags(cmd)
	cmd.Flags().StringVar(&f.by, "by", "model", "add up by one of "+columns)
	cmd.Flags().StringVar(&f.since, "since", "", "the first day, 2026-11-25, or a number of days with today, 7d (default: all)")
	cmd.Flags().BoolVar(&f.everywhere, "all", false, "show all projects")
	return cmd
}

func (c *command) showCost(ctx context.Context, f costFlags) (err error) {
	if !slices.Contains(inspect.CostColumns(), f.by) {
		return fmt.Errorf("--by %q is not known; write one of %s", f.by, strings.Join(inspect.CostColumns(), ", "))
	}
	since, err := firstDay(f.since, time.Now())
	if err != nil {
		return err
	}
	paths, err := c.paths(f.place)
	if err != nil {
		return err
	}
	o := inspect.Costs{By: f.by, Since: since, Prices: "~/.grapnel/prices.json"}
	if !f.everywhere && f.by != "project" {
		o.Project = paths.Project()
	}
	rows, err := app.Spent(ctx, paths, o.Project, since, c.Note)
	if err != nil {
		return err
	}
	return inspect.Cost(&c.Console, rows, o, f.json)
}

// maxDays is how many days --since may name.
const maxDays = 36_500

// firstDay returns the date that --since names; "" is none.
func firstDay(since string, now time.Time) (string, error) {
	if since == "" {
		return "", nil
	}
	if text, ok := strings.CutSuffix(since, "d"); ok {
		if n, err := strconv.Atoi(text); err == nil && n > 0 && n <= maxDays {
			return now.AddDate(0, 0, 1-n).Format(time.DateOnly), nil
		}
	} else if _, err := time.Parse(time.DateOnly, since); err == nil {
		return since, nil
	}
	return "", errors.New("--since " + strconv.Quote(since) + " is no day; write a date such as 2026-11-25, or a number of days such as 7d")
}
