// Package guard ends turns and conversations at limits of steps, tokens, time or money,
// and denies tool calls that come too often.
//
//	guard.New(nil) // 20 steps, 32,768 tokens and 5 minutes a turn
//
// A turn is charged for the turns of other agents that it runs. They share its limits,
// and each has the limits of its own agent in addition; these count the usage before
// its begin, too. A limit of time also ends a running model call or tool, through its
// deadline.
//
// Limits are checked before a step begins. So the step that exceeds a limit runs to its
// end, and its results are kept. A turn that ends at a limit names it ("Token limit
// reached: 33010/32768"), and its stop reason is the limit's.
package guard

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Guard enforces limits. New makes one; it is safe for concurrent use.
//
//hook:subsystem
type Guard struct {
	hook.Nop
	o Options

	// turn counts for the turn that a user started, conversation for its conversation.
	// Both include the agents that they run.
	turn         hook.TurnState[turnCounts]
	conversation hook.ConversationState[counts]
	rates        hook.ConversationState[rates]
	// spent and spentBefore are the states of package cost; 0 without it.
	spent       hook.TurnState[hook.Cost]
	spentBefore hook.ConversationState[hook.Cost]

	mu sync.RWMutex
	// agents has the limits of the registered agents.
	agents map[*hook.AgentConfig]*limits
	all    limits
}

// States implements hook.Stateful.
func (g *Guard) States() map[string]hook.State {
	return map[string]hook.State{"conversation": &g.conversation, "rates": &g.rates, "spentBefore": &g.spentBefore}
}

// The points at which limits are enforced.
var (
	_ hook.BeforeStep = (*Guard)(nil)
	_ hook.AfterStep  = (*Guard)(nil)
	_ hook.BeforeTool = (*Guard)(nil)
	_ hook.AfterTurn  = (*Guard)(nil)
)

// Options are the settings of [Guard]; nil is all zero values.
type Options struct {
	// Turn limits each turn. Zero fields are the defaults; Off switches a limit off.
	Turn Limits
	// Conversation limits all turns of a conversation together. Zero fields are no
	// limit.
	Conversation Limits
	// Now is the clock of calls per minute; nil is time.Now.
	Now func() time.Time
}

// Limits limit a turn or a conversation. Off, or any negative value, is no limit.
type Limits struct {
	// Steps is the number of steps; for a turn 0 is DefaultSteps. A number here, and Off
	// in an agent's section, replaces the runtime's default. Off here keeps the
	// runtime's default.
	Steps int
	// Tokens is input plus output; for a turn 0 is DefaultTokens.
	Tokens int64
	// Time is wall time; for a turn 0 is DefaultTime.
	Time time.Duration
	// Cost is the cost of the models, from package cost; 0 is no limit.
	Cost hook.Cost
	// Finish has finish reasons of the model that end the turn after the step. OnStop
	// may overrule this. Nil is none.
	Finish []message.FinishReason
	// Calls limits the calls of a tool, by its public name; "*" is each tool without an
	// own limit. Further calls are denied. Nil is no limit.
	Calls map[string]int
	// PerMinute limits the calls of a tool within a minute, by name as in Calls. The
	// calls of the whole conversation count, so of the limits of turn and conversation
	// the smaller one applies. Nil is no limit.
	PerMinute map[string]int
	// Repeats limits the calls of one tool with the same arguments. Further calls are
	// denied, and the turn ends after twice as many. 0 is no limit.
	Repeats int
}

// Off switches a limit off.
const Off = -1

// Defaults of the limits of a turn.
const (
	DefaultSteps  = 20
	DefaultTokens = 32_768
	DefaultTime   = 300 * time.Second
)

// New returns the subsystem; nil options are all zero values.
func New(o *Options) *Guard {
	g := &Guard{agents: map[*hook.AgentConfig]*limits{}}
	if o != nil {
		g.o = *o
	}
	if g.o.Now == nil {
		g.o.Now = time.Now
	}
	g.o.Turn = g.o.Turn.or(Limits{Steps: DefaultSteps, Tokens: DefaultTokens, Time: DefaultTime})
	g.all = limits{turn: g.o.Turn, conversation: g.o.Conversation}
	g.spent.Shared, g.spentBefore.Shared = "cost.turn", "cost.conversation"
	return g
}

// limits are those of one agent.
type limits struct {
	turn, conversation Limits
	// steps is the limit of steps of a turn if one is configured; 0 is the runtime's.
	steps int
}

// OnBuildAgent reads the section "guard". It sets the agent's time limit, which also ends
// running calls. A limit of steps replaces the runtime's default, which could be lower.
// The agent's own limits stay in force.
func (g *Guard) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	l, err := g.limitsOf(&cfg)
	if err != nil {
		return cfg, err
	}
	if limit := l.turn.Time; limit > 0 && (cfg.Limits.Time == 0 || limit < cfg.Limits.Time) {
		cfg.Limits.Time = limit
	}
	if cfg.Limits.Steps == 0 {
		cfg.Limits.Steps = l.steps
	}
	return cfg, nil
}

// OnRegisterAgent keeps the agent's limits.
func (g *Guard) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	l, err := g.limitsOf(cfg)
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.agents[cfg] = l
	g.mu.Unlock()
	return nil
}

// OnUnregisterAgent drops the agent's limits.
func (g *Guard) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	g.mu.Lock()
	delete(g.agents, cfg)
	g.mu.Unlock()
}

// of returns the limits of the agent, or those of all agents if it is not registered.
func (g *Guard) of(cfg *hook.AgentConfig) *limits {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if l := g.agents[cfg]; l != nil {
		return l
	}
	return &g.all
}

// BeforeStep stops the turn at a limit: its own agent's, or that of a turn above it.
func (g *Guard) BeforeStep(_ context.Context, step *hook.Step) (hook.StepDecision, error) {
	turn := step.Turn()
	for t := turn; t != nil; t = t.Parent() {
		if d := g.exceeded(turn, g.of(t.Agent())); d != (hook.StepDecision{}) {
			return d, nil
		}
	}
	g.count(turn, counts{Steps: 1})
	return hook.StepDecision{}, nil
}

// exceeded compares the usage with the limits of one agent.
func (g *Guard) exceeded(turn *hook.Turn, l *limits) hook.StepDecision {
	root := turn.Root()
	before, cost := g.conversation.Get(root.Conversation()), g.spentBefore.Get(root.Conversation())
	now := g.turn.Get(root).counts
	now.Time = root.Elapsed()
	if d := l.turn.reached(now, g.spent.Get(root)); d != (hook.StepDecision{}) {
		return d
	}
	before.Time += now.Time
	return l.conversation.reached(before, cost)
}

// anyAgent reports whether any registered agent has the limit. Only limited figures are
// counted, because the counts of a conversation are stored. All agents matter, not only
// those of the turn: an agent that the turn runs later limits the whole turn.
func (g *Guard) anyAgent(has func(*limits) bool) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, l := range g.agents {
		if has(l) {
			return true
		}
	}
	return has(&g.all)
}

// count charges the turn that a user started, and its conversation.
func (g *Guard) count(turn *hook.Turn, c counts) {
	root := turn.Root()
	if g.anyAgent(func(l *limits) bool { return l.turn.counted() }) {
		g.turn.Update(root, func(have turnCounts) turnCounts { have.counts = have.add(c); return have })
	}
	if g.anyAgent(limitConversation) {
		g.conversation.Update(root.Conversation(), func(have counts) counts { return have.add(c) })
	}
}

func limitConversation(l *limits) bool { return l.conversation.counted() }

// counted reports whether a limit needs the counts of steps.
func (l Limits) counted() bool { return l.Steps > 0 || l.Tokens > 0 || l.Time > 0 }

// AfterStep charges the usage of the step. It ends the turn if the model finished for a
// reason in its agent's limits, or repeats a call beyond the limit of its agent or of one
// above it.
func (g *Guard) AfterStep(_ context.Context, step *hook.Step, outcome hook.StepOutcome) (hook.StepDecision, error) {
	turn := step.Turn()
	g.count(turn, counts{Tokens: outcome.Usage.Total()})
	if d := g.of(turn.Agent()).finished(outcome.Finish); d != (hook.StepDecision{}) {
		return d, nil
	}
	most := g.turn.Get(turn.Root()).most
	for t := turn; t != nil; t = t.Parent() {
		if limit := g.of(t.Agent()).repeats(); limit >= 0 && most.times >= 2*limit {
			return hook.StopStep(hook.StopRetryLimit, fmt.Sprintf("Repeated call limit reached: %s %d/%d", most.tool, most.times, limit)).
				WithContext(figures("currentRepeats", most.times, "maxRepeats", limit)), nil
		}
	}
	return hook.StepDecision{}, nil
}

// AfterTurn charges the conversation with the turn's time.
func (g *Guard) AfterTurn(_ context.Context, turn *hook.Turn, outcome hook.TurnOutcome) {
	if turn.Parent() == nil && g.anyAgent(limitConversation) {
		g.conversation.Update(turn.Conversation(), func(c counts) counts { return c.add(counts{Time: outcome.Duration}) })
	}
}
