package app

import (
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/internal/config"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
	"github.com/grapnel-go/grapnel/runtime/spending"
	"github.com/grapnel-go/grapnel/subsystems/cost"
)

// spendingName is the variable with limits on what models cost. It can only tighten those of the
// user's configuration, because a process inherits it from whoever starts it.
const spendingName = "GRAPNEL_SPENDING"

// spendingLimits returns the limits of the user's settings, tightened by those of Options, the
// project and the environment: none of these can raise one.
func (a *App) spendingLimits(o Options, getenv func(string) string) (spending.Limits, error) {
	limits, err := a.parsedLimits(a.conf, o.Paths.config())
	if err != nil {
		return limits, err
	}
	if file := o.Paths.projectConfig(); file != o.Paths.config() {
		conf, err := config.LoadProject(file, o.Paths.Root)
		if err != nil {
			return limits, err
		}
		own, err := a.parsedLimits(conf, file)
		if err != nil {
			return limits, err
		}
		limits = limits.Tightened(own)
	}
	if text := strings.TrimSpace(getenv(spendingName)); text != "" {
		own, err := spending.Parse([]byte(text), spendingName)
		if err != nil {
			return limits, err
		}
		limits = limits.Tightened(own)
	}
	return limits.Tightened(o.Spending), nil
}

// parsedLimits returns the limits in the section spending of a file.
func (a *App) parsedLimits(conf config.Config, file string) (spending.Limits, error) {
	if conf.Spending == "" {
		return spending.Limits{}, nil
	}
	return spending.Parse([]byte(conf.Spending), a.paths.Short(file))
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
