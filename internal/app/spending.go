package app

import (
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/config"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
	"github.com/grapnel-go/grapnel/runtime/spending"
	"github.com/grapnel-go/grapnel/subsystems/cost"
)

// spendingName is the variable with limits on what models cost. It can only tighten those of the
// user's configuration, because a process inherits it from whoever starts it.
const spendingName = "GRAPNEL_SPENDING"

// limits returns the user's limits on spending, tightened by those of config.yaml, of the project
// and of the environment.
func (a *App) limits(user spending.Limits, getenv func(string) string) (spending.Limits, error) {
	// in gives the mistake the place of the section, which has its file already.
	in := func(conf config.Config, source string) func(error) error {
		return func(err error) error {
			what := "spending." + strings.TrimPrefix(err.Error(), source+": ")
			return located(conf.Problem("spending", what, ""), err)
		}
	}
	mine, project := a.paths.Short(a.paths.config()), a.paths.Short(a.paths.projectConfig())
	for _, from := range []struct {
		text   message.JSON
		source string
		wrong  func(err error) error
	}{
		{a.conf.Spending, mine, in(a.conf, mine)},
		{a.project.Spending, project, in(a.project, project)},
		{message.JSON(strings.TrimSpace(getenv(spendingName))), spendingName, func(err error) error { return err }},
	} {
		if from.text == "" {
			continue
		}
		own, err := spending.Parse([]byte(from.text), from.source)
		if err != nil {
			return user, from.wrong(err)
		}
		user = user.Tightened(own)
	}
	return user, nil
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

// loadPrices reads the user's price list, if there is one, which goes before the prices of the
// catalog. A project has none, because the user pays.
func loadPrices(p Paths) (*cost.Cost, error) {
	data, err := readUser(p.prices())
	if err != nil {
		return nil, err
	}
	known, err := p.openCatalog()
	if err != nil {
		return nil, err
	}
	o := &cost.Options{Quiet: data == nil, Fallback: func(model string, input int64) (cost.Price, bool) {
		return catalogPrice(known(), model, input, time.Now())
	}}
	if data != nil {
		if o.Prices, err = cost.Parse(data, p.Short(p.prices())); err != nil {
			return nil, err
		}
	}
	return cost.New(o)
}

// catalogPrice returns the price at that time of a request to the model with so many tokens of input.
func catalogPrice(known *catalog.Catalog, model string, input int64, at time.Time) (cost.Price, bool) {
	vendor, name, ok := strings.Cut(model, ":")
	if !ok {
		return cost.Price{}, false
	}
	m, ok := known.Model(vendor, name)
	if !ok {
		return cost.Price{}, false
	}
	p, priced := m.PriceAt(at, input)
	return cost.Price{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite}, priced
}
