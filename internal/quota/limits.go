// Package quota bounds what each tenant uses of a daemon: turns, waiting requests, connections, tokens and money.
package quota

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/tenant"
	"github.com/grapnel-go/grapnel/runtime/spending"
)

// Limits are what one tenant may use of a daemon; zero fields limit nothing.
type Limits struct {
	// Turns is how many turns may run at a time, from 1.
	Turns int
	// Waiting is how many requests may wait for a turn before them.
	Waiting int
	// Connections is how many requests may be open at a time; a stream is one.
	Connections int
	// Tokens is how many tokens models may read and write for the tenant on one local day. No turn begins beyond that.
	Tokens int64
	// Spending bounds what models cost.
	Spending spending.Limits
}

// Settings are the limits of all owners. The zero value limits nothing.
type Settings struct {
	all    Limits
	owners map[string]Limits
}

// Of returns the limits of an owner. The daemon's own user, "", has none.
func (s Settings) Of(owner string) Limits {
	if owner == "" {
		return Limits{}
	}
	if l, named := s.owners[owner]; named {
		return l
	}
	return s.all
}

// limits is the form of Limits in a configuration.
type limits struct {
	Turns       *int            `json:"turns"`
	Waiting     *int            `json:"waiting"`
	Connections *int            `json:"connections"`
	Tokens      *int64          `json:"tokens"`
	Spending    json.RawMessage `json:"spending"`
}

// Parse reads the section tenants of config.yaml as JSON; "" is an empty one:
//
//	{"turns": 4, "waiting": 20, "connections": 100, "tokens": 2000000, "spending": {"day": 5}, "owners": {"alice": {"turns": 8}}}
//
// An owner has what stands under its name, and for the rest what stands beside. A section spending is one whole.
func Parse(section message.JSON) (Settings, error) {
	if section == "" {
		return Settings{}, nil
	}
	in, err := message.DecodeStrict[struct {
		limits
		Owners map[string]limits `json:"owners"`
	}](section)
	if err != nil {
		return Settings{}, fmt.Errorf("tenants: %w", err)
	}
	s := Settings{owners: map[string]Limits{}}
	if s.all, err = in.limits.over(Limits{}, "tenants"); err != nil {
		return Settings{}, err
	}
	for _, owner := range slices.Sorted(maps.Keys(in.Owners)) {
		if err := tenant.CheckOwner(owner); err != nil {
			return Settings{}, fmt.Errorf("tenants.owners: %w", err)
		}
		if s.owners[owner], err = in.Owners[owner].over(s.all, "tenants.owners."+owner); err != nil {
			return Settings{}, err
		}
	}
	return s, nil
}

// over returns the limits with those that are given in the place of the others.
func (l limits) over(out Limits, at string) (Limits, error) {
	for _, f := range []struct {
		name  string
		given *int
		to    *int
	}{{"turns", l.Turns, &out.Turns}, {"waiting", l.Waiting, &out.Waiting}, {"connections", l.Connections, &out.Connections}} {
		if f.given == nil {
			continue
		}
		if *f.given < 1 || *f.given > 1_000_000 {
			return out, fmt.Errorf("%s.%s: %d is no limit; write a number from 1 to 1000000, or leave the key out", at, f.name, *f.given)
		}
		*f.to = *f.given
	}
	if l.Tokens != nil {
		if out.Tokens = *l.Tokens; out.Tokens < 1 {
			return out, fmt.Errorf("%s.tokens: %d is no limit; write a number from 1 on, or leave the key out", at, out.Tokens)
		}
	}
	if l.Spending == nil {
		return out, nil
	}
	own, err := spending.Parse(l.Spending, at+" of ~/.grapnel/config.yaml")
	out.Spending = own
	return out, err
}
