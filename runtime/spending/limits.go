package spending

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Limits bound what model calls may cost; a zero amount is no limit, and the zero Limits are none.
type Limits struct {
	// Turn bounds one turn of a user, with the turns of other agents that it runs.
	Turn hook.Cost
	// Day bounds all calls of a store since the last local midnight.
	Day hook.Cost
	// Project bounds the calls of each project for itself.
	Project Scope
	// Token bounds the calls of each API token for itself, unless Tokens names the token. The
	// local user has no token; Day and Project bound what they spend.
	Token Scope
	// Tokens bounds the calls of single tokens, by name.
	Tokens map[string]Scope
	// RefuseUnknown refuses calls whose price is not known. Otherwise they count as free, and
	// a diagnostic of the turn says so.
	RefuseUnknown bool
	// Source says where a person changes the limits, in refusals; "" names the fields of Limits.
	Source string
}

// Scope bounds what is spent for one purpose.
type Scope struct {
	// Day bounds it since the last local midnight, Total for all time.
	Day, Total hook.Cost
}

// file is the form of Limits in a configuration. Amounts are dollars.
type file struct {
	Turn    *float64         `json:"turn"`
	Day     *float64         `json:"day"`
	Project scope            `json:"project"`
	Token   scope            `json:"token"`
	Tokens  map[string]scope `json:"tokens"`
	Unknown string           `json:"unknown"`
}

type scope struct {
	Day   *float64 `json:"day"`
	Total *float64 `json:"total"`
}

// Parse reads limits from JSON; amounts are US dollars, and every key may be missing:
//
//	{"turn": 1, "day": 20, "project": {"day": 5, "total": 100}, "token": {"day": 2},
//	 "tokens": {"ci": {"total": 50}}, "unknown": "refuse"}
//
// Unknown and repeated keys are errors. Errors and refusals name the text by source.
func Parse(data []byte, source string) (Limits, error) {
	f, err := message.DecodeStrict[file](message.JSON(data))
	if err != nil {
		return Limits{}, fmt.Errorf("%s: %w", source, err)
	}
	l := Limits{Source: source}
	r := reader{source: source}
	l.Turn, l.Day = r.amount("turn", f.Turn), r.amount("day", f.Day)
	l.Project, l.Token = r.scope("project", f.Project), r.scope("token", f.Token)
	for _, name := range slices.Sorted(maps.Keys(f.Tokens)) {
		if l.Tokens == nil {
			l.Tokens = map[string]Scope{}
		}
		l.Tokens[name] = r.scope("tokens."+name, f.Tokens[name])
	}
	switch f.Unknown {
	case "", "allow":
	case "refuse":
		l.RefuseUnknown = true
	default:
		r.fail(fmt.Errorf("%s: unknown: %q is none of the two choices; write allow or refuse", source, f.Unknown))
	}
	if _, ok := f.Tokens[""]; ok {
		r.fail(fmt.Errorf("%s: tokens: a token has a name; the local user has none and is bounded by day and project", source))
	}
	if r.err != nil {
		return Limits{}, r.err
	}
	return l, nil
}

// reader keeps the first error.
type reader struct {
	source string
	err    error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) scope(key string, s scope) Scope {
	return Scope{r.amount(key+".day", s.Day), r.amount(key+".total", s.Total)}
}

// Bounds of an amount in dollars.
const (
	least = 0.0001
	most  = 1_000_000
)

func (r *reader) amount(key string, dollars *float64) hook.Cost {
	if dollars == nil {
		return 0
	}
	if !(*dollars >= least && *dollars <= most) {
		r.fail(fmt.Errorf("%s: %s: %v is no limit; write dollars from 0.0001 to 1000000, or leave the key out", r.source, key, *dollars))
		return 0
	}
	return hook.Cost(math.Round(*dollars * float64(hook.Dollar)))
}

// Tightened returns l with the limits of o where these are tighter. So o cannot raise or
// switch off a limit of l. A token that one of them names is bounded by that and by Token of the other.
func (l Limits) Tightened(o Limits) Limits {
	out := Limits{
		Turn: tighter(l.Turn, o.Turn), Day: tighter(l.Day, o.Day),
		Project: l.Project.tightened(o.Project), Token: l.Token.tightened(o.Token),
		RefuseUnknown: l.RefuseUnknown || o.RefuseUnknown, Source: l.Source,
	}
	for _, named := range []map[string]Scope{l.Tokens, o.Tokens} {
		for name := range named {
			if out.Tokens == nil {
				out.Tokens = map[string]Scope{}
			}
			out.Tokens[name] = l.token(name).tightened(o.token(name))
		}
	}
	switch {
	case l.Source == "":
		out.Source = o.Source
	case o.Source != "" && o.Source != l.Source:
		out.Source += " and " + o.Source
	}
	return out
}

func (s Scope) tightened(o Scope) Scope {
	return Scope{tighter(s.Day, o.Day), tighter(s.Total, o.Total)}
}

// tighter returns the smaller of two limits; 0 is none.
func tighter(a, b hook.Cost) hook.Cost {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// token returns the limits of the token; none for "".
func (l Limits) token(name string) Scope {
	if s, ok := l.Tokens[name]; ok {
		return s
	}
	if name == "" {
		return Scope{}
	}
	return l.Token
}

// Any reports whether there is a limit.
func (l Limits) Any() bool { return l.Turn != 0 || l.stored() || l.RefuseUnknown }

// stored reports whether there is a limit that needs a store.
func (l Limits) stored() bool {
	none := Scope{}
	return l.Day != 0 || l.Project != none || l.Token != none || len(l.Tokens) > 0
}
