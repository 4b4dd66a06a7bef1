// Package costs adds up what models have cost, for people and programs. It reads no store.
package costs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Sum is what calls have used up together.
type Sum struct {
	Name      string        `json:"name"`
	Calls     int64         `json:"calls"`
	Unpriced  int64         `json:"unpriced"`  // calls without a known price
	Estimated int64         `json:"estimated"` // calls without reported usage
	Usage     message.Usage `json:"usage"`
	Cost      hook.Cost     `json:"cost"` // in billionths of a dollar
}

// Columns are what the costs can be added up by.
func Columns() []string { return []string{"model", "agent", "day", "project", "token"} }

// Group adds up the rows by a column, the dearest first and days in their order. unpriced are the models without a known price.
func Group(rows []store.Spent, by string) (groups []Sum, total Sum, unpriced []string) {
	total.Name = "(all)"
	groups = []Sum{}
	at := map[string]int{}
	for _, r := range rows {
		name := nameOf(r.SpentKey, by)
		i, known := at[name]
		if !known {
			i = len(groups)
			at[name], groups = i, append(groups, Sum{Name: name})
		}
		groups[i].add(r)
		total.add(r)
		if r.Unpriced > 0 && !slices.Contains(unpriced, r.Model) {
			unpriced = append(unpriced, r.Model)
		}
	}
	slices.SortStableFunc(groups, func(a, b Sum) int {
		if by == "day" {
			return cmp.Compare(a.Name, b.Name)
		}
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Name, b.Name))
	})
	return groups, total, unpriced
}

func (s *Sum) add(r store.Spent) {
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

// maxDays is how many days FirstDay takes.
const maxDays = 36_500

// FirstDay returns the date that since names: a date such as 2026-11-25, or a number of days with today such as 7d. "" is none. name is
// that of the setting, for the error.
func FirstDay(name, since string, now time.Time) (string, error) {
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
	return "", fmt.Errorf("%s %.40q is no day; write a date such as 2026-11-25, or a number of days such as 7d", name, since)
}
