package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
	"github.com/grapnel-go/grapnel/runtime/spending"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/subsystems/cost"
)

// spendingName is the variable with limits on what models cost. It can only tighten those of the
// user's configuration, because a process inherits it from whoever starts it.
const spendingName = "GRAPNEL_SPENDING"

// spendingLimits returns the limits of the user, tightened by those in the environment.
func spendingLimits(user spending.Limits, getenv func(string) string) (spending.Limits, error) {
	text := strings.TrimSpace(getenv(spendingName))
	if text == "" {
		return user, nil
	}
	own, err := spending.Parse([]byte(text), spendingName)
	if err != nil {
		return user, err
	}
	return user.Tightened(own), nil
}

// ledger returns what the runtime asks before each request to a model. A project may turn the
// subsystem Cost off, but not the prices that limits need.
func (a *App) ledger(o Options, limits spending.Limits) (*spending.Ledger, error) {
	prices := a.Hooks.Cost
	if prices == nil && limits.Any() {
		var err error
		if prices, err = loadPrices(o.Paths); err != nil {
			return nil, err
		}
	}
	s := &spending.Options{Limits: limits}
	if prices != nil {
		s.Price = prices.Priced
	}
	return spending.New(a.Store, s)
}

// Spent returns what models have cost in the project since the day; "" is all projects, and the
// first day. It is empty if nothing is stored yet. note gets a sentence about each damage.
func Spent(ctx context.Context, p Paths, project, since string, note func(string)) (rows []store.Spent, err error) {
	if _, err := os.Stat(p.Conversations); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s, err := OpenConversations(ctx, p, note)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	filter := store.SpendingFilter{Since: since}
	if project != "" {
		filter.Project = &project
	}
	return s.Spent(ctx, filter)
}

// loadPrices reads the user's price list, if there is one, which goes before the prices of the
// catalog. A project has none, because the user pays.
func loadPrices(p Paths) (*cost.Cost, error) {
	data, err := readUser(p.prices())
	if err != nil {
		return nil, err
	}
	o := &cost.Options{Quiet: data == nil, Fallback: catalogPrice}
	if data != nil {
		if o.Prices, err = cost.Parse(data, p.Short(p.prices())); err != nil {
			return nil, err
		}
	}
	return cost.New(o)
}

// catalogPrice returns the price of today for a request to the model with so many tokens of input.
func catalogPrice(model string, input int64) (cost.Price, bool) {
	vendor, name, ok := strings.Cut(model, ":")
	if !ok {
		return cost.Price{}, false
	}
	m, ok := catalog.Default().Model(vendor, name)
	if !ok {
		return cost.Price{}, false
	}
	p, known := m.PriceAt(time.Now(), input)
	return cost.Price{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite}, known
}
