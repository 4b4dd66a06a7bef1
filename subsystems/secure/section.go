package secure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Action is what becomes of what was found.
type Action string

// The actions, the mildest first.
const (
	Allow Action = "allow" // nothing
	Warn  Action = "warn"  // a diagnostic says so
	Ask   Action = "ask"   // a person decides
	// Redact masks the values where they stand in the open; what then still carries one is blocked.
	Redact Action = "redact"
	Block  Action = "block" // it does not happen
)

var actions = [...]Action{Allow, Warn, Ask, Redact, Block}

// stricter returns the stricter of two actions.
func (a Action) stricter(b Action) Action {
	return actions[max(slices.Index(actions[:], a), slices.Index(actions[:], b))]
}

// Section is the section "secure" of an agent. An agent without it has all defaults.
type Section struct {
	// Secrets is about calls that would carry a secret to where others can get it: allow, warn, ask, redact or block; "" is Ask.
	Secrets Action `json:"secrets,omitempty"`
	// Personal is the same about numbers of cards, accounts and wallets, except those that the user has written.
	Personal Action `json:"personal,omitempty"`
	// Influence is about calls that reach beyond this machine with something that the user has not named, after the model has read a text of
	// somebody else: allow, warn, ask or block; "" is Ask.
	Influence Action `json:"influence,omitempty"`
	// Injection is about results from outside that give orders: allow, warn (they are marked, fenced and reported) or block; "" is Warn.
	Injection Action `json:"injection,omitempty"`
	// Links is about links of replies that carry a secret, and images with an address that was made up: allow, warn or redact; "" is Redact.
	Links Action `json:"links,omitempty"`
	// Hosts are names of hosts that the user trusts as if they were named in every message, with all that lies below them: example.com.
	Hosts []string `json:"hosts,omitempty"`
	// Tools are names of tools, or patterns of them, that Influence is not about.
	Tools []string `json:"tools,omitempty"`
}

// maxListed bounds Hosts and Tools.
const maxListed = 200

// settings are a section with its defaults.
type settings struct {
	secrets, personal, influence, injection, links Action
	hosts, tools                                   []string
}

func defaults() settings {
	return settings{secrets: Ask, personal: Ask, influence: Ask, injection: Warn, links: Redact}
}

// stricter returns settings with the stricter of both actions, and only what both exempt.
func (s settings) stricter(o settings) settings {
	both := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(x string) bool { return !slices.Contains(b, x) })
	}
	return settings{
		secrets: s.secrets.stricter(o.secrets), personal: s.personal.stricter(o.personal), influence: s.influence.stricter(o.influence),
		injection: s.injection.stricter(o.injection), links: s.links.stricter(o.links),
		hosts: both(s.hosts, o.hosts), tools: both(s.tools, o.tools),
	}
}

func settingsOf(cfg *hook.AgentConfig) (settings, error) {
	s, _, err := hook.SectionOf[Section](cfg, "secure")
	if err != nil {
		return settings{}, err
	}
	out := defaults()
	for _, one := range []struct {
		name    string
		given   Action
		to      *Action
		allowed string
	}{
		{"secrets", s.Secrets, &out.secrets, "allow, warn, ask, redact, block"},
		{"personal", s.Personal, &out.personal, "allow, warn, ask, redact, block"},
		{"influence", s.Influence, &out.influence, "allow, warn, ask, block"},
		{"injection", s.Injection, &out.injection, "allow, warn, block"},
		{"links", s.Links, &out.links, "allow, warn, redact"},
	} {
		*one.to = cmp.Or(one.given, *one.to)
		if !slices.Contains(strings.Split(one.allowed, ", "), string(*one.to)) {
			return out, fmt.Errorf("agent %q: section secure: %s: %.40q; write one of %s", cfg.Name, one.name, one.given, one.allowed)
		}
	}
	if len(s.Hosts) > maxListed || len(s.Tools) > maxListed {
		return out, fmt.Errorf("agent %q: section secure: hosts and tools have at most %d entries", cfg.Name, maxListed)
	}
	for _, h := range s.Hosts {
		if h == "" || strings.ContainsAny(h, "/:@*? \t") {
			return out, fmt.Errorf("agent %q: section secure: hosts: %.60q; write the name of a host, such as example.com", cfg.Name, h)
		}
		out.hosts = append(out.hosts, strings.ToLower(strings.Trim(h, ".")))
	}
	out.tools = s.Tools
	return out, nil
}

// exempts reports whether the influence check leaves the tool alone.
func (s settings) exempts(tool string) bool {
	return slices.ContainsFunc(s.tools, func(p string) bool { return message.MatchName(p, tool) })
}
