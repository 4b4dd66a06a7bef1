// Package toolbox replaces the schemas of many tools by a search. An agent with the section "toolbox" and more tools than that
// allows gets the tools to keep and the tool tool_search; what the model finds there, it gets with its schema from the next
// request on, for the rest of the conversation.
//
//	h := &Hooks{Toolbox: toolbox.New(), MCP: servers}
//	cfg = cfg.WithSection("toolbox", `{"above":30,"keep":["read","bash"]}`)
//
// What is not offered cannot be called: such a call is denied, and the tool is loaded for the next request. Nothing is ever
// offered that the agent may not use without this package. The field must have no prefix.
package toolbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/offer"
)

// Toolbox owns the tool tool_search. New makes one; it is safe for concurrent use.
//
//hook:subsystem
type Toolbox struct {
	hook.Nop

	// conversation is stored, so that a history that mentions tools keeps them after a restart.
	conversation hook.ConversationState[conversation]
	turn         hook.TurnState[offered]

	mu sync.RWMutex
	// agents has those with a section.
	agents map[*hook.AgentConfig]*box
}

var (
	_ hook.Hook           = (*Toolbox)(nil)
	_ hook.Stateful       = (*Toolbox)(nil)
	_ hook.RewriteRequest = (*Toolbox)(nil)
	_ hook.BeforeTool     = (*Toolbox)(nil)
)

// Section is the section "toolbox" of an agent.
type Section struct {
	// Above is how many tools the agent may have before the search replaces schemas. 0 is DefaultAbove, or no limit if
	// Tokens is set.
	Above int `json:"above,omitzero"`
	// Tokens is how many tokens the schemas of all tools may have before that, as an estimate; 0 is no limit.
	Tokens int `json:"tokens,omitzero"`
	// Keep are the tools that the model always gets: names, with * for any text. Nil keeps all tools but those of
	// MCP servers; an empty list keeps none.
	Keep *[]string `json:"keep,omitempty"`
}

// DefaultAbove is the number of tools above which the search replaces schemas.
const DefaultAbove = 30

const (
	// maxKeep limits the entries of keep, and maxEntry the characters of each.
	maxKeep  = 100
	maxEntry = 64
	// maxLoaded limits the found tools of a conversation. Beyond it the oldest are forgotten.
	maxLoaded = 40
)

// CodeActive is the code of the diagnostic that tells once a session what the search saves.
const CodeActive hook.DiagnosticCode = "toolbox.active"

// conversation is what a conversation keeps.
type conversation struct {
	// On: its last request offered the search instead of schemas.
	On bool `json:"on,omitzero"`
	// Loaded are the tools that were found, the oldest first.
	Loaded []string `json:"loaded,omitempty"`
	// Told is the session that was told.
	Told string `json:"told,omitzero"`
}

// offered is what a step of the turn offers.
type offered struct {
	step  int
	shelf *shelf
	set   *message.ToolSet
}

// New returns the subsystem.
func New() *Toolbox { return &Toolbox{agents: map[*hook.AgentConfig]*box{}} }

// States implements [hook.Stateful].
func (b *Toolbox) States() map[string]hook.State {
	return map[string]hook.State{"conversation": &b.conversation}
}

// sectionOf returns the agent's section with its defaults; false if it has none.
func sectionOf(cfg *hook.AgentConfig) (Section, bool, error) {
	s, found, err := hook.SectionOf[Section](cfg, "toolbox")
	if err != nil || !found {
		return s, false, err
	}
	problem := func(field, why string, args ...any) error {
		return fmt.Errorf("agent %q: section toolbox: %s: %s", cfg.Name, field, fmt.Sprintf(why, args...))
	}
	switch {
	case s.Above < 0:
		return s, false, problem("above", "%d; write a number of tools", s.Above)
	case s.Tokens < 0:
		return s, false, problem("tokens", "%d; write a number of tokens", s.Tokens)
	case s.Keep != nil && len(*s.Keep) > maxKeep:
		return s, false, problem("keep", "%d entries; write at most %d", len(*s.Keep), maxKeep)
	}
	if s.Keep != nil {
		for i, entry := range *s.Keep {
			if entry == "" || len(entry) > maxEntry || strings.Trim(entry, nameBytes) != "" {
				return s, false, problem(fmt.Sprintf("keep[%d]", i), "%q is no name of a tool; use letters, digits, _ and -, and * for any text", entry)
			}
		}
	}
	if s.Above == 0 && s.Tokens == 0 {
		s.Above = DefaultAbove
	}
	return s, true, nil
}

// nameBytes are those of entries in keep.
const nameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-*"

// OnBuildAgent refuses a wrong section.
func (b *Toolbox) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	_, _, err := sectionOf(&cfg)
	return cfg, err
}

// OnRegisterAgent keeps the agent's settings.
func (b *Toolbox) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	s, found, err := sectionOf(cfg)
	if err != nil || !found {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.agents[cfg] = &box{section: s}
	return nil
}

// OnUnregisterAgent drops the agent's settings.
func (b *Toolbox) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.agents, cfg)
}

// of returns the settings of the agent; nil if it has none.
func (b *Toolbox) of(cfg *hook.AgentConfig) *box {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.agents[cfg]
}

// ScopedTools removes the search from an agent without the section.
func (b *Toolbox) ScopedTools(cfg *hook.AgentConfig) hook.Scope {
	if _, found, err := sectionOf(cfg); err != nil || !found {
		return hook.Scope{Tools: []string{}}
	}
	return hook.Scope{}
}

// RewriteRequest replaces the schemas of tools that are neither kept nor found. Below the limit it removes the search instead.
func (b *Toolbox) RewriteRequest(ctx context.Context, step *hook.Step, req message.ModelRequest) (message.ModelRequest, error) {
	t := step.Turn()
	if t == nil || t.Conversation() == nil || t.IsCompaction() {
		return req, nil
	}
	mine := b.of(t.Agent())
	if mine == nil {
		b.turnOff(t)
		return req, nil
	}
	s := mine.shelf(req.Tools)
	if !s.on || !offer.Has(req.Tools, ToolToolSearch) {
		b.turnOff(t)
		if s.on && t.Parent() == nil {
			b.tell(ctx, t, "the search is not used, because the agent's list of tools lacks "+ToolToolSearch)
		}
		return offer.Only(req, s.all), nil
	}
	forced := ""
	if c := req.Model.Choice; c.Mode == message.ToolChoiceTool && offer.Has(req.Tools, c.Tool) {
		forced = c.Tool
	}
	loaded := b.enter(ctx, t, s, forced)
	set := s.with(loaded)
	b.turn.Update(t, func(offered) offered { return offered{step.Number(), s, set} })
	return offer.Only(req, set), nil
}

// turnOff notes that the conversation is offered all of its tools.
func (b *Toolbox) turnOff(t *hook.Turn) {
	if b.turn.Get(t).set != nil {
		b.turn.Update(t, func(offered) offered { return offered{} })
	}
	if b.conversation.Get(t.Conversation()).On {
		b.conversation.Update(t.Conversation(), func(c conversation) conversation {
			c.On = false
			return c
		})
	}
}

// enter notes that the conversation is offered the search, and returns the found tools. forced is a tool that the model has to
// call; "" is none.
func (b *Toolbox) enter(ctx context.Context, t *hook.Turn, s *shelf, forced string) []string {
	c := b.conversation.Get(t.Conversation())
	missing := forced != "" && s.hides(forced) && !slices.Contains(c.Loaded, forced)
	if !c.On || missing {
		c = b.conversation.Update(t.Conversation(), func(c conversation) conversation {
			c.On = true
			if missing {
				c = c.load(forced)
			}
			return c
		})
	}
	if c.Told != sessionOf(t) {
		b.tell(ctx, t, s.sizes(c.Loaded).String())
	}
	return c.Loaded
}

// tell tells something once a session.
func (b *Toolbox) tell(ctx context.Context, t *hook.Turn, text string) {
	session := sessionOf(t)
	if b.conversation.Get(t.Conversation()).Told == session {
		return
	}
	b.conversation.Update(t.Conversation(), func(c conversation) conversation {
		c.Told = session
		return c
	})
	t.Host().Emit(ctx, hook.Diagnostic{Code: CodeActive, Text: "toolbox: " + text, Visibility: event.VisibleDebug}.Event())
}

// sessionOf returns the id of the turn's session; "" in tests without one.
func sessionOf(t *hook.Turn) string {
	if t.Session() == nil {
		return ""
	}
	return t.Session().ID()
}

// load returns c with the tools as found. A tool that was found before keeps its place, so that requests go on with the same bytes.
func (c conversation) load(names ...string) conversation {
	c.Loaded = slices.Clone(c.Loaded)
	for _, name := range names {
		if !slices.Contains(c.Loaded, name) {
			c.Loaded = append(c.Loaded, name)
		}
	}
	c.Loaded = c.Loaded[max(0, len(c.Loaded)-maxLoaded):]
	return c
}

func (b *Toolbox) load(t *hook.Turn, names ...string) {
	b.conversation.Update(t.Conversation(), func(c conversation) conversation { return c.load(names...) })
}

// BeforeTool denies a call of a tool that its step did not offer, and loads the tool for the next request.
func (b *Toolbox) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	t := turnOf(call)
	if t == nil {
		return hook.ToolDecision{}, nil
	}
	mine := b.of(t.Agent())
	if mine == nil || b.isOffered(mine, t, call) {
		return hook.ToolDecision{}, nil
	}
	b.load(t, call.Name())
	return hook.DenyTool("this tool was not loaded, so you have not seen its schema. It is loaded now: call it again, with arguments that fit the schema"), nil
}

// isOffered reports whether the step of the call offered the tool. If the step has noted nothing, as after a restart, the conversation says it.
func (b *Toolbox) isOffered(mine *box, t *hook.Turn, call *hook.ToolCall) bool {
	if o := b.turn.Get(t); o.set != nil && o.step == call.Step().Number() {
		return offer.Has(o.set, call.Name())
	}
	if !b.conversation.Get(t.Conversation()).On {
		return true
	}
	return mine.keeps(call.Name()) || slices.Contains(b.conversation.Get(t.Conversation()).Loaded, call.Name())
}

// turnOf returns the turn of the call; nil outside a conversation.
func turnOf(call *hook.ToolCall) *hook.Turn {
	if call == nil || call.Step() == nil || call.Step().Turn() == nil || call.Step().Turn().Conversation() == nil {
		return nil
	}
	return call.Step().Turn()
}
