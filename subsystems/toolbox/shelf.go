package toolbox

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/estimate"
	"github.com/grapnel-go/grapnel/internal/offer"
)

// box has the settings of an agent, and its tools as they were last sorted.
type box struct {
	section Section
	mu      sync.Mutex
	last    *shelf
}

// keeps reports whether the model always gets the tool.
func (b *box) keeps(tool string) bool {
	switch {
	case tool == ToolToolSearch:
		return true
	case b.section.Keep == nil:
		return !strings.HasPrefix(tool, "mcp__")
	}
	return message.MatchesAny(*b.section.Keep, tool)
}

// shelf are the tools of an agent, sorted into those that are kept and those that are found. It is safe for concurrent use.
type shelf struct {
	from *message.ToolSet
	// all are the tools without the search.
	all *message.ToolSet
	// on: they exceed the limit, and some of them are hidden.
	on           bool
	kept, hidden []message.Tool

	once sync.Once
	// index is made at the first search.
	index *index

	mu sync.Mutex
	// sets has what was offered, by the names of the found tools.
	sets map[string]*message.ToolSet
}

// shelf sorts the tools. The tools of an agent are the same for many requests, so it keeps the last answer.
func (b *box) shelf(set *message.ToolSet) *shelf {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil || b.last.from != set {
		b.last = b.sort(set)
	}
	return b.last
}

func (b *box) sort(set *message.ToolSet) *shelf {
	s := &shelf{from: set, sets: map[string]*message.ToolSet{}}
	s.all = offer.Filter(set, func(t message.Tool) bool { return t.Name != ToolToolSearch })
	for _, t := range set.Tools().All() {
		if b.keeps(t.Name) {
			s.kept = append(s.kept, t)
		} else {
			s.hidden = append(s.hidden, t)
		}
	}
	above, tokens := b.section.Above, b.section.Tokens
	over := above > 0 && s.all.Tools().Len() > above || tokens > 0 && tokensOf(s.all) > int64(tokens)
	s.on = over && len(s.hidden) > 0
	for i := range s.kept {
		if s.kept[i].Name == ToolToolSearch {
			s.kept[i].Description += " " + s.contents()
		}
	}
	return s
}

// hides reports whether the tool is one of those that have to be found.
func (s *shelf) hides(name string) bool {
	return slices.ContainsFunc(s.hidden, func(t message.Tool) bool { return t.Name == name })
}

// maxGroups limits the groups of tools that a description names.
const maxGroups = 20

// contents says in one sentence what can be found. It depends on the hidden tools only, so that requests begin with the same
// bytes whatever was found.
func (s *shelf) contents() string {
	var names []string
	count := map[string]int{}
	for _, t := range s.hidden {
		group := t.Name
		if server, _, ok := strings.Cut(strings.TrimPrefix(t.Name, "mcp__"), "__"); ok && strings.HasPrefix(t.Name, "mcp__") {
			group = "mcp__" + server + "__*"
		}
		if count[group]++; count[group] == 1 {
			names = append(names, group)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	for i, name := range names {
		if strings.HasSuffix(name, "*") {
			names[i] = fmt.Sprintf("%s (%d)", name, count[name])
		}
	}
	text := fmt.Sprintf("%d tools can be found: %s", len(s.hidden), strings.Join(names[:min(len(names), maxGroups)], ", "))
	if more := len(names) - maxGroups; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + "."
}

// maxSets limits the sets of a shelf.
const maxSets = 64

// with returns the kept tools and behind them the found ones, in the order in which they were found.
func (s *shelf) with(loaded []string) *message.ToolSet {
	key := strings.Join(loaded, " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	if set := s.sets[key]; set != nil {
		return set
	}
	tools := slices.Clone(s.kept)
	for _, name := range loaded {
		if i := slices.IndexFunc(s.hidden, func(t message.Tool) bool { return t.Name == name }); i >= 0 {
			tools = append(tools, s.hidden[i])
		}
	}
	if len(s.sets) >= maxSets {
		clear(s.sets)
	}
	set := message.NewToolSet(tools)
	s.sets[key] = set
	return set
}

// Sizes are the tools that an agent has, and those that its model is offered.
type Sizes struct {
	// Tools and Tokens are the tools without the search, and the estimated tokens of their schemas.
	Tools  int   `json:"tools"`
	Tokens int64 `json:"tokens"`
	// On: the search replaces schemas. Offered and OfferedTokens are what is left at the begin of a conversation, with the search.
	On            bool  `json:"on"`
	Offered       int   `json:"offered"`
	OfferedTokens int64 `json:"offered_tokens"`
}

// String returns the sizes in a line: "214 tools, 61204 tokens of schemas; with tool_search: 9 tools, 1840 tokens".
func (s Sizes) String() string {
	text := fmt.Sprintf("%d tools, %d tokens of schemas", s.Tools, s.Tokens)
	if s.On {
		text += fmt.Sprintf("; with %s: %d tools, %d tokens", ToolToolSearch, s.Offered, s.OfferedTokens)
	}
	return text
}

// Sizes returns the sizes of the agent's tools. The agent need not be registered; without the section, or with a wrong one,
// nothing is replaced.
func (b *Toolbox) Sizes(cfg *hook.AgentConfig, tools *message.ToolSet) Sizes {
	section, found, err := sectionOf(cfg)
	s := (&box{section: section}).sort(tools)
	s.on = s.on && found && err == nil && offer.Has(tools, ToolToolSearch)
	return s.sizes(nil)
}

func (s *shelf) sizes(loaded []string) Sizes {
	out := Sizes{Tools: s.all.Tools().Len(), Tokens: tokensOf(s.all), On: s.on}
	set := s.all
	if s.on {
		set = s.with(loaded)
	}
	out.Offered, out.OfferedTokens = set.Tools().Len(), tokensOf(set)
	return out
}

// tokensOf estimates what the schemas of the tools cost in a request.
func tokensOf(set *message.ToolSet) int64 {
	n := 0
	for _, t := range set.Tools().All() {
		n += len(t.Name) + len(t.Description) + len(t.Input)
	}
	return estimate.Tokens(n)
}
