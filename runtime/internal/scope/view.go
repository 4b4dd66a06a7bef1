package scope

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/spell"
	"github.com/grapnel-go/grapnel/runtime/internal/contribution"
)

// catalog is the checked tools of the hook. It is immutable and shared by the
// agents that were registered while the hook had these tools.
type catalog struct {
	tools []message.Tool
	names []string
	index map[string]int
	// all is the set for an agent without a narrower scope.
	all *message.ToolSet
}

// View is the scope of one agent: it decides which tools the model is offered and which calls
// may run. It is immutable.
type View struct {
	catalog *catalog
	// scope has a bit for every tool of the catalog; nil is all.
	scope []uint64
	// turn is what differs for one turn; nil is nothing.
	turn *turnTools
	// bySender is nil if no rule is about senders.
	bySender *bySender
	// Tools are offered to the model. Prompt is the system prompt.
	Tools  *message.ToolSet
	Prompt string
	// Parts are those of the prompt, without what hooks add for a turn.
	Parts []Part
}

// turnTools are the tools of one turn that the catalog does not have.
type turnTools struct {
	added []message.Tool
	// withheld are names outside of the catalog that may not be called.
	withheld []string
}

// bySender is the part of a view that depends on the sender.
type bySender struct {
	rules []message.SenderRule
	// sender is that of the view. The view of an agent has none, and then all tools.
	sender string
	known  bool
	prompt prompt
}

// catalogCache keeps the last catalog, because a hook without run-time tools has
// the same one for every agent.
type catalogCache struct {
	mu   sync.Mutex
	last *catalog
}

func (c *catalogCache) of(tools []message.Tool) (*catalog, error) {
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	if last != nil && slices.Equal(last.tools, tools) {
		return last, nil
	}
	made, err := newCatalog(tools)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.last = made
	c.mu.Unlock()
	return made, nil
}

func newCatalog(tools []message.Tool) (*catalog, error) {
	c := &catalog{tools: slices.Clone(tools), names: make([]string, 0, len(tools)), index: make(map[string]int, len(tools))}
	for i, t := range c.tools {
		if !message.ValidToolName(t.Name) {
			return nil, fmt.Errorf("tool %q: the name has to match ^[a-zA-Z0-9_-]{1,64}$", t.Name)
		}
		if _, twice := c.index[t.Name]; twice {
			return nil, fmt.Errorf("tool %q has two owners; give one of them a prefix", t.Name)
		}
		if t.Input != "" && (!json.Valid([]byte(t.Input)) || t.Input[0] != '{') {
			return nil, fmt.Errorf("tool %q: its input schema is no JSON object", t.Name)
		}
		c.index[t.Name] = i
		c.names = append(c.names, t.Name)
	}
	c.all = message.NewToolSet(c.tools)
	return c, nil
}

// View makes the view of an agent. It changes cfg.Tools from the configured to the effective
// tools. If strict is true, a configured name that no member owns is an error.
func (h *Hooks) View(cfg *hook.AgentConfig, env Environment, strict bool) (*View, error) {
	tools, err := h.schema()
	if err != nil {
		return nil, err
	}
	c, err := h.known.of(tools)
	if err != nil {
		return nil, err
	}
	if strict {
		if err := c.checkNames(cfg.Tools); err != nil {
			return nil, err
		}
	}
	scope, err := h.scopeOf(cfg)
	if err != nil {
		return nil, err
	}
	v := &View{catalog: c}
	listed := cfg.Tools != nil
	v.narrow(cfg, scope)
	texts, err := h.promptsOf(cfg)
	if err != nil {
		return nil, err
	}
	parts := prompt{cfg.Instructions, env, texts, scope.Line}
	v.Prompt, v.Parts = parts.write(cfg.Tools, v.scope != nil && (listed || h.partly(v)))
	if len(cfg.Senders)+len(scope.Senders) > 0 {
		v.bySender = &bySender{rules: slices.Concat(cfg.Senders, scope.Senders), prompt: parts}
	}
	return v, nil
}

// For returns the view for the turns of a sender; v itself if no rule is about senders.
func (v *View) For(sender string) *View {
	if v.bySender == nil {
		return v
	}
	out, by := *v, *v.bySender
	by.sender, by.known = sender, true
	out.bySender = &by
	var barred []string
	for _, t := range v.Tools.Tools().All() {
		if out.bars(t.Name) {
			barred = append(barred, t.Name)
		}
	}
	if len(barred) == 0 {
		return &out
	}
	out = *out.With(contribution.Tools{Hidden: barred})
	out.Prompt, out.Parts = by.prompt.write(out.Callable().Slice(), true)
	return &out
}

// BySender reports whether the view depends on the sender.
func (v *View) BySender() bool { return v.bySender != nil }

// bars reports whether a rule keeps the tool from the sender of the view.
func (v *View) bars(tool string) bool {
	by := v.bySender
	return by != nil && by.known && slices.ContainsFunc(by.rules, func(r message.SenderRule) bool { return r.Bars(tool, by.sender) })
}

// partly reports whether some member offers the agent some of its tools and not the others. A member that offers none is off for
// this agent, and its tools are nothing that a prompt has to exclude.
func (h *Hooks) partly(v *View) bool {
	const gives, keepsBack = 1, 2
	does := map[string]int{}
	for _, name := range v.catalog.names {
		did := gives
		if _, s := v.Find(name); s != Available {
			did = keepsBack
		}
		owner := h.Plan().Owner(name)
		if does[owner] |= did; does[owner] == gives|keepsBack {
			return true
		}
	}
	return false
}

func (c *catalog) checkNames(names []string) error {
	for _, name := range names {
		if _, ok := c.index[name]; ok || message.IsPattern(name) && message.ValidToolPattern(name) {
			continue
		}
		if message.IsPattern(name) {
			return fmt.Errorf("tool %q: a pattern has letters, digits, _, - and *", name)
		}
		if near := nearest(name, c.tools); near != "" {
			return fmt.Errorf("tool %q: nobody owns it; did you mean %s?", name, near)
		}
		return fmt.Errorf("tool %q: nobody owns it", name)
	}
	return nil
}

// Unmatched returns the patterns in a list of names that match no tool of the hooks.
func (v *View) Unmatched(names []string) (out []string) {
	for _, p := range names {
		if message.IsPattern(p) && !slices.ContainsFunc(v.catalog.names, func(name string) bool { return message.MatchName(p, name) }) {
			out = append(out, p)
		}
	}
	return out
}

// narrow sets the scope to the intersection of both lists, where nil is all.
func (v *View) narrow(cfg *hook.AgentConfig, scope hook.Scope) {
	n := len(v.catalog.tools)
	if cfg.Tools == nil && scope.Tools == nil {
		v.Tools, cfg.Tools = v.catalog.all, v.catalog.names[:n:n] // shared by all such agents
		return
	}
	bits, effective := make([]uint64, (n+63)/64), make([]message.Tool, 0, n)
	asked, allowed := SetOf(cfg.Tools), SetOf(scope.Tools)
	names := make([]string, 0, n)
	for i, t := range v.catalog.tools {
		if asked.Has(t.Name) && allowed.Has(t.Name) {
			bits[i/64] |= 1 << (i % 64)
			effective, names = append(effective, t), append(names, t.Name)
		}
	}
	cfg.Tools = names
	if len(effective) == n {
		v.Tools = v.catalog.all
		return
	}
	v.scope, v.Tools = bits, message.NewToolSet(effective)
}

// NameSet is a set of names. The zero NameSet is all names.
type NameSet struct {
	// exact is nil for all names.
	exact    map[string]bool
	patterns []string
}

// SetOf returns the set of the names and of those that match the patterns in the list; nil is
// all.
func SetOf(names []string) NameSet {
	if names == nil {
		return NameSet{}
	}
	s := NameSet{exact: make(map[string]bool, len(names))}
	for _, n := range names {
		if message.IsPattern(n) {
			s.patterns = append(s.patterns, n)
		} else {
			s.exact[n] = true
		}
	}
	return s
}

// Has reports whether the name is in the set.
func (s NameSet) Has(name string) bool {
	return s.exact == nil || s.exact[name] || message.MatchesAny(s.patterns, name)
}

// Standing says whether a name may be called.
type Standing int

const (
	NotRegistered Standing = iota
	NotAvailable
	Available
)

// Find returns the tool of that name and whether the agent may call it.
func (v *View) Find(name string) (message.Tool, Standing) {
	i, ok := v.catalog.index[name]
	switch {
	case !ok:
		of := v.ofTurn()
		if i := slices.IndexFunc(of.added, func(t message.Tool) bool { return t.Name == name }); i >= 0 {
			return of.added[i], Available
		}
		if slices.Contains(of.withheld, name) || v.bars(name) {
			return message.Tool{Name: name}, NotAvailable
		}
		return message.Tool{Name: name}, NotRegistered
	case v.scope != nil && v.scope[i/64]&(1<<(i%64)) == 0:
		return v.catalog.tools[i], NotAvailable
	}
	return v.catalog.tools[i], Available
}

// NameList returns the list of one name. It allocates nothing for a known tool.
func (v *View) NameList(name string) message.List[string] {
	if i, ok := v.catalog.index[name]; ok {
		return message.Freeze(v.catalog.names[i : i+1])
	}
	return message.ListOf(name)
}

// Callable returns the names of the tools that the agent may call.
func (v *View) Callable() message.List[string] {
	tools := v.Tools.Tools()
	names := make([]string, tools.Len())
	for i, tool := range tools.All() {
		names[i] = tool.Name
	}
	return message.Freeze(names)
}

// With returns the view with the changes of one turn. A hidden name that is no tool of the agent
// is answered as one that is not available.
func (v *View) With(ch contribution.Tools) *View {
	out, of := *v, v.ofTurn()
	of.added = slices.DeleteFunc(slices.Clone(of.added), func(t message.Tool) bool { return slices.Contains(ch.Hidden, t.Name) })
	of.withheld = slices.Clone(of.withheld)
	for _, name := range ch.Hidden {
		if _, ok := v.catalog.index[name]; !ok {
			of.withheld = append(of.withheld, name)
		}
	}
	if len(ch.Hidden) > 0 {
		out.scope = make([]uint64, (len(v.catalog.tools)+63)/64)
		for i, t := range v.catalog.tools {
			if _, s := v.Find(t.Name); s == Available && !slices.Contains(ch.Hidden, t.Name) {
				out.scope[i/64] |= 1 << (i % 64)
			}
		}
	}
	tools := slices.DeleteFunc(v.Tools.Tools().Slice(), func(t message.Tool) bool { return slices.Contains(ch.Hidden, t.Name) })
	for _, a := range ch.Added {
		of.added = append(of.added, a.Tool)
		tools = append(tools, a.Tool)
	}
	out.Tools, out.turn = message.NewToolSet(tools), &of
	return &out
}

func (v *View) ofTurn() turnTools {
	if v.turn == nil {
		return turnTools{}
	}
	return *v.turn
}

// Refusal is the result of a call that is not passed to an owner. It names no tool that the
// agent may not use.
func (v *View) Refusal(name string, s Standing) message.ToolResult {
	if s == NotAvailable {
		return message.FailedResult(message.FailNotAvailable, fmt.Sprintf("tool %q is not available to this agent", name))
	}
	text := fmt.Sprintf("tool %q is not registered", name)
	if near := nearest(name, v.Tools.Tools().Slice()); near != "" {
		text += "; did you mean " + near + "?"
	}
	return message.FailedResult(message.FailNotRegistered, text)
}

// nearest lists up to three names similar to a mistyped one, the closest first; "" if none is
// close.
func nearest(name string, tools []message.Tool) string {
	type near struct {
		name string
		far  int
	}
	var found []near
	for _, t := range tools {
		far := spell.Distance(name, t.Name)
		if far <= max(2, len(name)/3) || strings.HasSuffix(t.Name, "_"+name) {
			found = append(found, near{t.Name, far})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.far - b.far })
	names := make([]string, 0, 3)
	for _, f := range found[:min(3, len(found))] {
		names = append(names, fmt.Sprintf("%q", f.name))
	}
	return strings.Join(names, ", ")
}
