// Package guard ends what goes on for too long: turns, and whole conversations,
// that reach a limit of steps, tokens, time or money, and calls that come too often
// or again and again.
//
//	guard.New(nil) // 20 steps, 32,768 tokens and 5 minutes a turn
//
// What a turn is charged with includes the turns of other agents that it runs:
// they share its limits and each has those of its own agent beside them, which count
// what was used before it began, too. A limit of
// time also ends a model call or a tool that is under way, through its deadline.
//
// A limit is looked at before a step begins, so the step that passes it is done to
// its end and its results are kept. A turn that ends at a limit says which
// ("Token limit reached: 33010/32768") and its stop reason is the limit's.
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

	// turn and conversation count, each for the turn that a user started and its
	// conversation, whatever other agents they run.
	turn         hook.TurnState[course]
	conversation hook.ConversationState[counts]
	rates        hook.ConversationState[rates]
	// spent and spentBefore are what package cost tells, if it is there.
	spent       hook.TurnState[hook.Cost]
	spentBefore hook.ConversationState[hook.Cost]

	mu sync.RWMutex
	// agents are the limits of the agents that are registered.
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
	// Turn limits each turn. Zero values are the defaults; Off switches one off.
	Turn Limits
	// Conversation limits all turns of a conversation together. Zero values are no
	// limit.
	Conversation Limits
	// Now is the clock of calls per minute; nil is time.Now.
	Now func() time.Time
}

// Limits are what a turn or a conversation may use. Off, or any negative value, is
// no limit.
type Limits struct {
	// Steps is the number of model calls with what follows from them; for a turn 0
	// is DefaultSteps. A number here, and Off in an agent's section, takes the place of
	// the runtime's default; Off here leaves that to the runtime.
	Steps int
	// Tokens is input plus output; for a turn 0 is DefaultTokens.
	Tokens int64
	// Time is wall time; for a turn 0 is DefaultTime.
	Time time.Duration
	// Cost is what the models cost, as package cost counts it; 0 is no limit.
	Cost hook.Cost
	// Finish are finish reasons of the model that end the turn after the step. OnStop
	// may overrule it. Nil is none.
	Finish []message.FinishReason
	// Calls are the calls of one tool, by its public name; "*" is every tool, each
	// for itself. A call beyond is denied. Nil is no limit.
	Calls map[string]int
	// PerMinute are the calls of one tool within a minute, as Calls. They count over
	// the whole conversation, so the limits of turn and conversation do not differ:
	// the smaller one holds. Nil is no limit.
	PerMinute map[string]int
	// Repeats is how often one tool may be called with the same arguments; a call
	// beyond is denied, and the turn ends after twice as many. 0 is no limit.
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
	// steps is the limit of steps of a turn where somebody has asked for one; 0 is that
	// of the runtime.
	steps int
}

// OnBuildAgent reads the section "guard", and has the agent's turns end with the
// limit of time, so that it reaches into calls. A limit of steps here takes the place of
// the runtime's default, which could be lower. Limits that the agent itself has hold
// beside it.
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

// OnUnregisterAgent forgets them.
func (g *Guard) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	g.mu.Lock()
	delete(g.agents, cfg)
	g.mu.Unlock()
}

// of returns the limits of the agent; those without a section of its own if it was
// not registered here.
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

// exceeded compares what has been used with the limits of one agent.
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

// anyone tells whether an agent limits what is asked about: what nobody limits nobody
// wants to know, and what is counted of a conversation is written down with it. All
// agents are asked, and not those of the turn alone, because an agent that is run
// later has limits of the whole turn and of all of its conversation.
func (g *Guard) anyone(wants func(*limits) bool) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, l := range g.agents {
		if wants(l) {
			return true
		}
	}
	return wants(&g.all)
}

// count charges the turn that a user started, and its conversation.
func (g *Guard) count(turn *hook.Turn, c counts) {
	root := turn.Root()
	if g.anyone(func(l *limits) bool { return l.turn.counted() }) {
		g.turn.Update(root, func(have course) course { have.counts = have.add(c); return have })
	}
	if g.anyone(limitConversation) {
		g.conversation.Update(root.Conversation(), func(have counts) counts { return have.add(c) })
	}
}

func limitConversation(l *limits) bool { return l.conversation.counted() }

// counted tells whether there is a limit of what is counted by steps.
func (l Limits) counted() bool { return l.Steps > 0 || l.Tokens > 0 || l.Time > 0 }

// AfterStep charges what the step has used, and ends the turn where the model
// finished for a reason that is a limit of its own agent, or keeps repeating a call
// beyond the limit of its agent or of one above it.
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
	if turn.Parent() == nil && g.anyone(limitConversation) {
		g.conversation.Update(turn.Conversation(), func(c counts) counts { return c.add(counts{Time: outcome.Duration}) })
	}
}
