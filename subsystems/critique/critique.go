// Package critique lets a second model judge the answers of an agent before they count.
//
//	critique.New() // agents with the section "critique" are judged
//
// The judge gets the request and the answer as data, and a rubric. It approves, or returns the
// answer with feedback, at most Section.Max times in a turn. Only the judge's own approval is
// one: an error, a verdict that is late or cannot be read, and a turn that may spend no more
// leave the answer unreviewed. Then the turn fails, or the answer is shown with a diagnostic
// that says so, as Section.OnFailure says. The same holds for an answer that the judge still
// does not approve after the last return.
//
// The judge's tokens count as the turn's. Its verdicts are told as diagnostics.
package critique

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Critique judges answers. New makes one; it is safe for concurrent use.
//
//hook:subsystem
type Critique struct {
	hook.Nop
	// returned is how often the turn's answers were returned.
	returned hook.TurnState[int]

	mu sync.RWMutex
	// agents has the settings of registered agents with a section.
	agents map[*hook.AgentConfig]Section
}

// The points at which answers are judged.
var (
	_ hook.AfterModel = (*Critique)(nil)
	_ hook.OnStop     = (*Critique)(nil)
	_ hook.AfterTurn  = (*Critique)(nil)
)

// Place says where answers are judged.
type Place string

// The places.
const (
	// OnReply is the default: before an answer becomes history. An answer that is returned is
	// dropped, and clients are told to drop it.
	OnReply Place = "reply"
	// AtStop is when the turn is about to end. The answer is history by then, so it cannot be
	// rejected, only followed by another one.
	AtStop Place = "stop"
)

// Failing says what becomes of an answer that nobody has approved.
type Failing string

// The ways.
const (
	// Reject is the default: the turn fails with an [Error].
	Reject Failing = "reject"
	// ShowUnreviewed shows the answer, and a diagnostic says that nobody has approved it.
	ShowUnreviewed Failing = "show_unreviewed"
)

// Section is the section "critique" of an agent. The answers of an agent without it are not
// judged.
type Section struct {
	// Model judges; "" is the agent's.
	Model string `json:"model,omitempty"`
	// Rubric says what a good answer is; "" is DefaultRubric.
	Rubric string `json:"rubric,omitempty"`
	// Max is how often answers are returned in one turn, 1 to 3; 0 is DefaultMax.
	Max int `json:"max,omitempty"`
	// On is OnReply or AtStop; "" is OnReply.
	On Place `json:"on,omitempty"`
	// OnFailure is Reject or ShowUnreviewed; "" is Reject. With AtStop it must be
	// ShowUnreviewed.
	OnFailure Failing `json:"on_failure,omitempty"`
	// Threshold makes the judge give a score from 0 to 10, and an approval with a lower one is
	// none; 0 asks for no score.
	Threshold int `json:"threshold,omitempty"`
	// Timeout bounds one verdict, such as "30s"; "" is DefaultTimeout.
	Timeout string `json:"timeout,omitempty"`

	timeout time.Duration
}

// Defaults of [Section].
const (
	DefaultMax     = 2
	DefaultTimeout = time.Minute
	DefaultRubric  = "The answer does what was asked, is correct as far as you can tell, leaves out nothing that matters, and claims nothing that it does not support."
)

// Limits of a section.
const (
	maxReturns   = 3 // a step asks its model that often again
	maxThreshold = 10
	maxRubric    = 16 << 10
	maxTimeout   = 10 * time.Minute
)

// New returns the subsystem.
func New() *Critique { return &Critique{agents: map[*hook.AgentConfig]Section{}} }

// sectionOf returns the settings of the agent, filled up; ok is false if it has no section.
func sectionOf(cfg *hook.AgentConfig) (s Section, ok bool, err error) {
	if s, ok, err = hook.SectionOf[Section](cfg, "critique"); err != nil || !ok {
		return s, ok, err
	}
	problem := func(field, why string, args ...any) error {
		return fmt.Errorf("agent %q: section critique: %s: %s", cfg.Name, field, fmt.Sprintf(why, args...))
	}
	s.Max, s.On, s.OnFailure = cmp.Or(s.Max, DefaultMax), cmp.Or(s.On, OnReply), cmp.Or(s.OnFailure, Reject)
	s.timeout = DefaultTimeout
	if s.Timeout != "" {
		if s.timeout, err = time.ParseDuration(s.Timeout); err != nil || s.timeout <= 0 || s.timeout > maxTimeout {
			return s, ok, problem("timeout", "%.40q; write a time up to %s, such as 30s", s.Timeout, maxTimeout)
		}
	}
	switch {
	case s.Max < 1 || s.Max > maxReturns:
		return s, ok, problem("max", "%d; write a number from 1 to %d", s.Max, maxReturns)
	case s.On != OnReply && s.On != AtStop:
		return s, ok, problem("on", "%.40q; write reply or stop", s.On)
	case s.OnFailure != Reject && s.OnFailure != ShowUnreviewed:
		return s, ok, problem("on_failure", "%.40q; write reject or show_unreviewed", s.OnFailure)
	case s.On == AtStop && s.OnFailure == Reject:
		return s, ok, problem("on_failure", "at the stop an answer is stored already and cannot be rejected; write show_unreviewed, or on: reply")
	case s.On == OnReply && cfg.Loop == message.LoopPlanAndExecute:
		return s, ok, problem("on", "the replies of this loop are plans and steps as well as the answer; write on: stop, and on_failure: show_unreviewed")
	case s.Threshold < 0 || s.Threshold > maxThreshold:
		return s, ok, problem("threshold", "%d; write a number from 1 to %d, or leave it out", s.Threshold, maxThreshold)
	case len(s.Rubric) > maxRubric:
		return s, ok, problem("rubric", "%d bytes; write at most %d", len(s.Rubric), maxRubric)
	}
	if strings.TrimSpace(s.Rubric) == "" {
		s.Rubric = DefaultRubric
	}
	return s, ok, nil
}

// OnBuildAgent refuses a wrong section.
func (c *Critique) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	_, _, err := sectionOf(&cfg)
	return cfg, err
}

// OnRegisterAgent keeps the agent's settings.
func (c *Critique) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	s, ok, err := sectionOf(cfg)
	if err != nil || !ok {
		return err
	}
	c.mu.Lock()
	c.agents[cfg] = s
	c.mu.Unlock()
	return nil
}

// OnUnregisterAgent drops the agent's settings.
func (c *Critique) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	c.mu.Lock()
	delete(c.agents, cfg)
	c.mu.Unlock()
}

// at returns the settings of the agent if its answers are judged at the place.
func (c *Critique) at(cfg *hook.AgentConfig, on Place) (Section, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s, ok := c.agents[cfg]
	return s, ok && s.On == on
}
