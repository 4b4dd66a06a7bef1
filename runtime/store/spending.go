package store

import (
	"context"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Spending is implemented by stores that keep what model calls cost, added up by day.
// Implementations are safe for concurrent use, also by several processes. Nothing is ever
// deleted; a store has one row per day, project, agent, model and token.
type Spending interface {
	// Reserve notes a call that is about to be made, so that limits count it from now on, and
	// returns its id, from 1. If a limit is reached, it writes nothing, and the error is a
	// [*LimitError] for the first such limit. No other call comes between look and write.
	Reserve(ctx context.Context, r Reservation, limits []SpendingLimit) (id int64, err error)
	// Settle ends the reservation and adds s to its row; 0 is the id of a call without a
	// reservation. A Spent without calls adds nothing. Figures count as [Spent.Bounded] says.
	// A reservation that ended more than Unsettled ago stays counted; that is no error.
	Settle(ctx context.Context, id int64, s Spent) error
	// Spent returns the rows that match, ordered by the fields of their keys. A reservation
	// that has ended without Settle is in it, as an estimate; a running one is not.
	Spent(ctx context.Context, f SpendingFilter) ([]Spent, error)
}

// Unsettled is how long after its end a reservation can still be settled.
const Unsettled = 24 * time.Hour

// SpentKey says what money was spent for.
type SpentKey struct {
	// Day is the local date of the call's begin: 2026-11-25.
	Day string
	// Project and Agent made the call. Model is the model that was asked.
	Project, Agent, Model string
	// Token is the name of the credential for which the call was made; "" is the local user.
	Token string
}

// Spent is what calls of one key have used up.
type Spent struct {
	SpentKey
	// Calls counts the calls. Those in Unpriced had no known price and are not in Cost. The
	// usage of those in Estimated was not reported.
	Calls, Unpriced, Estimated int64
	Usage                      message.Usage
	Cost                       hook.Cost
}

// Add returns s with the figures of o.
func (s Spent) Add(o Spent) Spent {
	s.Calls, s.Unpriced, s.Estimated = s.Calls+o.Calls, s.Unpriced+o.Unpriced, s.Estimated+o.Estimated
	s.Usage, s.Cost = s.Usage.Add(o.Usage), s.Cost+o.Cost
	return s
}

// Bounds of one call. A figure beyond them is cut to them, so that no server can make sums
// overflow.
const (
	MaxCallTokens           = 1_000_000_000
	MaxCallCost   hook.Cost = 1_000_000 * hook.Dollar
)

// Bounded returns s with figures that can be added up: at most the bounds of a call for each
// of its calls, and none negative. Stores call it.
func (s Spent) Bounded() Spent {
	s.Calls = min(max(s.Calls, 0), 1_000)
	s.Unpriced, s.Estimated = min(max(s.Unpriced, 0), s.Calls), min(max(s.Estimated, 0), s.Calls)
	for _, n := range []*int64{&s.Usage.Input, &s.Usage.Output, &s.Usage.CacheRead, &s.Usage.CacheWrite, &s.Usage.Reasoning} {
		*n = min(max(*n, 0), s.Calls*MaxCallTokens)
	}
	s.Cost = min(max(s.Cost, 0), hook.Cost(s.Calls)*MaxCallCost)
	return s
}

// Reservation is a call that is about to be made.
type Reservation struct {
	// Least is what the call has used up if nobody settles it, because its process was killed:
	// one call with an estimated usage.
	Least Spent
	// Most is what limits count while it runs.
	Most hook.Cost
	// Hold is how long it may run; positive. Then it counts as Least.
	Hold time.Duration
}

// Check returns an error if the reservation is not valid. Stores call it.
func (r Reservation) Check() error {
	if _, err := time.Parse(time.DateOnly, r.Least.Day); err != nil || r.Hold <= 0 || r.Most < 0 {
		return fmt.Errorf("store: a call on the day %q is reserved for %v with %v: set Least.Day to a date such as 2026-11-25, Hold, and Most", r.Least.Day, r.Hold, r.Most)
	}
	return nil
}

// SpendingFilter selects rows; the zero value selects all.
type SpendingFilter struct {
	// Since is the first day; "" is the first that there is.
	Since string
	// Project and Token are those of the rows; nil is any.
	Project, Token *string
}

// Matches reports whether the row of the key is one of the selected.
func (f SpendingFilter) Matches(k SpentKey) bool {
	return k.Day >= f.Since && (f.Project == nil || k.Project == *f.Project) && (f.Token == nil || k.Token == *f.Token)
}

// SpendingLimit bounds what the rows of a filter may cost. It is reached when what was spent
// and what is reserved come to Max.
type SpendingLimit struct {
	SpendingFilter
	// Name names the limit to the caller of Reserve.
	Name string
	Max  hook.Cost
}

// LimitError says that a limit on spending is reached.
type LimitError struct {
	Limit SpendingLimit
	// Spent is what was spent, Reserved what Running calls have reserved.
	Spent, Reserved hook.Cost
	Running         int64
}

// Error names the limit and the amounts.
func (e *LimitError) Error() string {
	return fmt.Sprintf("store: the limit %q on spending is reached: %v spent and %v reserved, of %v", e.Limit.Name, e.Spent, e.Reserved, e.Limit.Max)
}
