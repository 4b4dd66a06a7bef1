package mem

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
)

var _ store.Spending = (*Store)(nil)

// spending is what model calls have cost, and what is reserved for those that run.
type spending struct {
	spent    map[store.SpentKey]store.Spent
	reserved map[int64]reserved
	// last is the id of the last reservation.
	last int64
}

type reserved struct {
	least store.Spent
	most  hook.Cost
	until time.Time
}

// Reserve implements store.Spending.
func (s *Store) Reserve(_ context.Context, r store.Reservation, limits []store.SpendingLimit) (int64, error) {
	if err := r.Check(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, store.ErrClosed
	}
	s.spending.fold(s.now())
	for _, l := range limits {
		if err := s.spending.check(l, s.now()); err != nil {
			return 0, err
		}
	}
	if s.spending.reserved == nil {
		s.spending.reserved = map[int64]reserved{}
	}
	s.spending.last++
	s.spending.reserved[s.spending.last] = reserved{r.Least.Bounded(), min(r.Most, store.MaxCallCost), s.now().Add(r.Hold)}
	return s.spending.last, nil
}

// fold adds the reservations that nobody has settled to what was spent.
func (p *spending) fold(now time.Time) {
	for id, r := range p.reserved {
		if !now.Before(r.until.Add(store.Unsettled)) {
			p.add(r.least)
			delete(p.reserved, id)
		}
	}
}

func (p *spending) add(s store.Spent) {
	if s.Calls == 0 {
		return
	}
	if p.spent == nil {
		p.spent = map[store.SpentKey]store.Spent{}
	}
	row, known := p.spent[s.SpentKey]
	if !known {
		row.SpentKey = s.SpentKey
	}
	p.spent[s.SpentKey] = row.Add(s)
}

// check returns a [*store.LimitError] if the limit is reached.
func (p *spending) check(l store.SpendingLimit, now time.Time) error {
	e := &store.LimitError{Limit: l}
	for k, s := range p.spent {
		if l.Matches(k) {
			e.Spent += s.Cost
		}
	}
	for _, r := range p.reserved {
		switch {
		case !l.Matches(r.least.SpentKey):
		case r.until.After(now):
			e.Reserved += r.most
			e.Running++
		default:
			e.Spent += r.least.Cost
		}
	}
	if e.Spent+e.Reserved >= l.Max {
		return e
	}
	return nil
}

// Settle implements store.Spending.
func (s *Store) Settle(_ context.Context, id int64, spent store.Spent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	delete(s.spending.reserved, id)
	s.spending.add(spent.Bounded())
	return nil
}

// Spent implements store.Spending.
func (s *Store) Spent(_ context.Context, f store.SpendingFilter) ([]store.Spent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, store.ErrClosed
	}
	all := spending{spent: maps.Clone(s.spending.spent)}
	for _, r := range s.spending.reserved {
		if !r.until.After(s.now()) {
			all.add(r.least)
		}
	}
	var out []store.Spent
	for k, row := range all.spent {
		if f.Matches(k) {
			out = append(out, row)
		}
	}
	slices.SortFunc(out, func(a, b store.Spent) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Project, b.Project), cmp.Compare(a.Agent, b.Agent),
			cmp.Compare(a.Model, b.Model), cmp.Compare(a.Token, b.Token))
	})
	return out, nil
}
