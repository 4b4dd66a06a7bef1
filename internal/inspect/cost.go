package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/costs"
	"github.com/grapnel-go/grapnel/internal/term/console"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Costs says which costs are shown.
type Costs struct {
	// By is what they are added up by, one of costs.Columns.
	By string
	// Since is the first day: a date such as 2026-11-25, or a number of days with today such as 7d. "" is the first that there is.
	Since string
	// All shows all projects.
	All bool
	// JSON writes JSON, for programs.
	JSON bool
}

// Cost shows what models have cost.
func Cost(ctx context.Context, c *console.Console, p app.Paths, o Costs) (err error) {
	if !slices.Contains(costs.Columns(), o.By) {
		return fmt.Errorf("--by %q is not known; write one of %s", o.By, strings.Join(costs.Columns(), ", "))
	}
	if o.Since, err = costs.FirstDay("--since", o.Since, time.Now()); err != nil {
		return err
	}
	filter, project := store.SpendingFilter{Since: o.Since}, p.Project()
	if o.All = o.All || o.By == "project"; !o.All {
		filter.Project = &project
	}
	rows, err := stored(ctx, p, c.Note, func(s keeps) ([]store.Spent, error) { return s.Spent(ctx, filter) })
	if err != nil {
		return err
	}
	return showCosts(c, rows, o)
}

// keeps is the part of a store of which something is shown.
type keeps interface {
	store.Spending
	store.Runs
}

// stored reads rows from the project's store; none if nothing is stored yet.
func stored[T any](ctx context.Context, p app.Paths, note func(string), read func(s keeps) ([]T, error)) (rows []T, err error) {
	if _, err := os.Stat(p.Conversations); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s, err := app.OpenConversations(ctx, p, note)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return read(s)
}

func showCosts(c *console.Console, rows []store.Spent, o Costs) error {
	groups, total, unpriced := costs.Group(rows, o.By)
	if o.JSON {
		return c.JSON(struct {
			By    string      `json:"by"`
			Since string      `json:"since,omitzero"`
			Spent []costs.Sum `json:"spent"`
			Total costs.Sum   `json:"total"`
		}{o.By, o.Since, groups, total})
	}
	if total.Calls == 0 {
		c.Note(nothingSpent(o))
		return nil
	}
	table := [][]string{{strings.ToUpper(o.By), "CALLS", "INPUT", "OUTPUT", "COST", "SHARE"}}
	for _, g := range append(groups, total) {
		table = append(table, []string{g.Name, fmt.Sprint(g.Calls), fmt.Sprint(g.Usage.Input), fmt.Sprint(g.Usage.Output), money(g), share(g.Cost, total.Cost)})
	}
	if err := c.Tables(table); err != nil {
		return err
	}
	if total.Unpriced > 0 {
		c.Note(fmt.Sprintf("%s without a known price: %s; give a price in ~/.grapnel/prices.json to count later calls", calls(total.Unpriced), listed(unpriced)))
	}
	if total.Estimated > 0 {
		c.Note(fmt.Sprintf("the usage of %s was not reported, because it was cancelled or cut off; it is estimated", calls(total.Estimated)))
	}
	return nil
}

func nothingSpent(o Costs) string {
	text := "no model was asked"
	if !o.All {
		text += " in this project"
	}
	if o.Since != "" {
		text += " since " + o.Since
	}
	if !o.All {
		text += "; --all shows all projects"
	}
	return text
}

// money returns the cost, or that it is not known.
func money(s costs.Sum) string {
	switch {
	case s.Unpriced == 0:
		return s.Cost.String()
	case s.Unpriced == s.Calls:
		return "unknown"
	}
	return fmt.Sprintf("%v + %s unknown", s.Cost, calls(s.Unpriced))
}

// bar is how long the bar of a whole is.
const bar = 20

func share(part, whole hook.Cost) string {
	if whole == 0 {
		return "-"
	}
	percent := part.Dollars() / whole.Dollars() * 100
	return fmt.Sprintf("%3.0f%% %s", percent, strings.Repeat("#", int(percent*bar/100+0.5)))
}

func calls(n int64) string {
	if n == 1 {
		return "1 call"
	}
	return fmt.Sprint(n, " calls")
}

// maxListed is how many models a note lists.
const maxListed = 5

func listed(names []string) string {
	if len(names) > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
	}
	return strings.Join(names, ", ")
}
