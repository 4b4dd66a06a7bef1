package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/term/console"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Costs says which costs are shown.
type Costs struct {
	// By is what they are added up by, one of CostColumns.
	By string
	// Since is the first day: a date such as 2026-11-25, or a number of days with today such as 7d. "" is the first that there is.
	Since string
	// All shows all projects.
	All bool
	// JSON writes JSON, for programs.
	JSON bool
}

// CostColumns are what the costs can be added up by.
func CostColumns() []string { return []string{"model", "agent", "day", "project", "token"} }

// Cost shows what models have cost.
func Cost(ctx context.Context, c *console.Console, p app.Paths, o Costs) (err error) {
	if !slices.Contains(CostColumns(), o.By) {
		return fmt.Errorf("--by %q is not known; write one of %s", o.By, strings.Join(CostColumns(), ", "))
	}
	if o.Since, err = firstDay(o.Since, time.Now()); err != nil {
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

// maxDays is how many days Costs.Since may name.
const maxDays = 36_500

// firstDay returns the date that the text names; "" is none.
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
	return "", fmt.Errorf("--since %q is no day; write a date such as 2026-11-25, or a number of days such as 7d", since)
}

// spent is the sum of one group, as JSON has it.
type spent struct {
	Name      string        `json:"name"`
	Calls     int64         `json:"calls"`
	Unpriced  int64         `json:"unpriced"`  // calls without a known price
	Estimated int64         `json:"estimated"` // calls without reported usage
	Usage     message.Usage `json:"usage"`
	Cost      hook.Cost     `json:"cost"` // in billionths of a dollar
}

func showCosts(c *console.Console, rows []store.Spent, o Costs) error {
	groups, total, unpriced := grouped(rows, o.By)
	if o.JSON {
		return c.JSON(struct {
			By    string  `json:"by"`
			Since string  `json:"since,omitzero"`
			Spent []spent `json:"spent"`
			Total spent   `json:"total"`
		}{o.By, o.Since, groups, total})
	}
	if total.Calls == 0 {
		c.Note(nothingSpent(o))
		return nil
	}
	table := [][]string{{strings.ToUpper(o.By), "CALLS", "INPUT", "OUTPUT", "COST", "SHARE"}}
	for _, g := range append(groups, total) {
		table = append(table, []string{g.Name, fmt.Sprint(g.Calls), fmt.Sprint(g.Usage.Input), fmt.Sprint(g.Usage.Output), g.money(), share(g.Cost, total.Cost)})
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

// grouped adds up the rows by a column, the dearest first and days in their order. unpriced are the models without a
// known price.
func grouped(rows []store.Spent, by string) (groups []spent, total spent, unpriced []string) {
	total.Name = "(all)"
	groups = []spent{}
	at := map[string]int{}
	for _, r := range rows {
		name := nameOf(r.SpentKey, by)
		i, known := at[name]
		if !known {
			i = len(groups)
			at[name], groups = i, append(groups, spent{Name: name})
		}
		groups[i].add(r)
		total.add(r)
		if r.Unpriced > 0 && !slices.Contains(unpriced, r.Model) {
			unpriced = append(unpriced, r.Model)
		}
	}
	slices.SortStableFunc(groups, func(a, b spent) int {
		if by == "day" {
			return cmp.Compare(a.Name, b.Name)
		}
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name))
	})
	return groups, total, unpriced
}

func (s *spent) add(r store.Spent) {
	s.Calls, s.Unpriced, s.Estimated = s.Calls+r.Calls, s.Unpriced+r.Unpriced, s.Estimated+r.Estimated
	s.Usage, s.Cost = s.Usage.Add(r.Usage), s.Cost+r.Cost
}

// nameOf returns the name of the group of a row.
func nameOf(k store.SpentKey, by string) string {
	switch by {
	case "agent":
		return k.Agent
	case "day":
		return k.Day
	case "project":
		return cmp.Or(k.Project, "(none)")
	case "token":
		return cmp.Or(k.Token, "(local user)")
	}
	return cmp.Or(k.Model, "(none)")
}

// money returns the cost, or that it is not known.
func (s *spent) money() string {
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
