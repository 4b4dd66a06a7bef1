// Package fallback asks a model again when a call has failed, and other models when the first
// keeps failing.
//
//	fallback.New(nil) // 5 tries, about 1, 2, 4 and 8 seconds apart
//	fallback.New(&fallback.Options{Models: []string{"openai:gpt-5-mini"}})
//
// Only failures that may pass are tried again; what the provider refuses stays refused. The
// pauses are random, so that many waiting turns do not come back at the same moment, and they
// are at least what the provider asks for. The event turn_retried says why and how long. After
// the last try, or where waiting is pointless, the next model of the list is asked, and in the
// end the turn fails with the last error.
//
// A model that fails again and again is left out for a while, as long as the list has another:
// its circuit breaker is open. All turns of the process share the breakers.
package fallback

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Fallback answers failed model calls. New makes one; it is safe for concurrent use.
//
//hook:subsystem
type Fallback struct {
	hook.Nop
	o Options

	turn hook.TurnState[progress]

	mu       sync.RWMutex
	agents   map[*hook.AgentConfig]Options
	breakers map[string]circuitbreaker.CircuitBreaker[any]
}

// The points at which models are chosen and watched.
var (
	_ hook.RewriteRequest = (*Fallback)(nil)
	_ hook.OnModelError   = (*Fallback)(nil)
	_ hook.AfterModel     = (*Fallback)(nil)
)

// Options are the settings of [Fallback]; nil is all zero values.
type Options struct {
	// Models are asked in this order after the agent's model has failed; nil is none.
	Models []string
	// Tries is how often one model is asked in one step; 0 is DefaultTries, 1 or less is once.
	Tries int
	// Pause is the average of twice the first pause: a pause is random between 0 and Pause, and
	// Pause doubles with each try, up to MaxWait. 0 is DefaultPause.
	Pause time.Duration
	// MaxWait is the longest pause. If the provider asks for a longer one, the model is not
	// asked again in this step. 0 is DefaultMaxWait.
	MaxWait time.Duration
	// Failures in a row open the circuit breaker of a model for OpenFor. 0 is DefaultFailures,
	// a negative number is never.
	Failures int
	// OpenFor is how long an open breaker keeps a model out; 0 is DefaultOpenFor.
	OpenFor time.Duration
	// Random returns a number in [0, 1); nil is math/rand.
	Random func() float64
}

// Defaults of [Options].
const (
	DefaultTries    = 5
	DefaultPause    = 2 * time.Second
	DefaultMaxWait  = time.Minute
	DefaultFailures = 10
	DefaultOpenFor  = 30 * time.Second
)

// Limits of a section.
const (
	maxModels = 4
	maxTries  = 10
)

// New returns the subsystem; nil options are all zero values.
func New(o *Options) *Fallback {
	f := &Fallback{agents: map[*hook.AgentConfig]Options{}, breakers: map[string]circuitbreaker.CircuitBreaker[any]{}}
	if o != nil {
		f.o = *o
	}
	f.o.Tries, f.o.Pause, f.o.MaxWait = cmp.Or(f.o.Tries, DefaultTries), cmp.Or(f.o.Pause, DefaultPause), cmp.Or(f.o.MaxWait, DefaultMaxWait)
	f.o.Failures, f.o.OpenFor = cmp.Or(f.o.Failures, DefaultFailures), cmp.Or(f.o.OpenFor, DefaultOpenFor)
	if f.o.Random == nil {
		f.o.Random = rand.Float64
	}
	return f
}

// Section is the section "fallback" of an agent. Empty fields keep the settings of the process.
type Section struct {
	// Models replace Options.Models; an empty list is none.
	Models *[]string `json:"models,omitempty"`
	// Tries is 1 to 10.
	Tries int `json:"tries,omitempty"`
	// MaxWait is the longest pause, such as "30s".
	MaxWait string `json:"max_wait,omitempty"`
}

// optionsOf returns the settings of an agent: those of its section, else those of all agents.
func (f *Fallback) optionsOf(cfg *hook.AgentConfig) (Options, error) {
	s, _, err := hook.SectionOf[Section](cfg, "fallback")
	if err != nil {
		return f.o, err
	}
	o := f.o
	problem := func(field, why string, args ...any) error {
		return fmt.Errorf("agent %q: section fallback: %s: %s", cfg.Name, field, fmt.Sprintf(why, args...))
	}
	if s.Models != nil {
		o.Models = *s.Models
	}
	switch {
	case len(o.Models) > maxModels:
		return o, problem("models", "%d models; write at most %d", len(o.Models), maxModels)
	case slices.Contains(o.Models, ""):
		return o, problem("models", "an empty name; write the name of a model, as in the field model")
	case s.Tries < 0 || s.Tries > maxTries:
		return o, problem("tries", "%d; write a number from 1 to %d", s.Tries, maxTries)
	}
	o.Tries = cmp.Or(s.Tries, o.Tries)
	if s.MaxWait != "" {
		if o.MaxWait, err = time.ParseDuration(s.MaxWait); err != nil || o.MaxWait <= 0 {
			return o, problem("max_wait", "%q is no time; write for example 30s", s.MaxWait)
		}
	}
	return o, nil
}

// Models returns the models that an agent may be answered by besides its own.
func (f *Fallback) Models(cfg *hook.AgentConfig) ([]string, error) {
	o, err := f.optionsOf(cfg)
	return o.Models, err
}

// OnRegisterAgent keeps the agent's settings.
func (f *Fallback) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	o, err := f.optionsOf(cfg)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.agents[cfg] = o
	f.mu.Unlock()
	return nil
}

// OnUnregisterAgent drops the agent's settings.
func (f *Fallback) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	f.mu.Lock()
	delete(f.agents, cfg)
	f.mu.Unlock()
}

// of returns the settings of the agent, or those of all agents if it is not registered.
func (f *Fallback) of(cfg *hook.AgentConfig) Options {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if o, ok := f.agents[cfg]; ok {
		return o
	}
	return f.o
}

// progress is how far the failing step of a turn is.
type progress struct {
	step int
	// model was asked last, and failed so often in this step.
	model  string
	failed int
	// left are the models that the step has given up.
	left []string
}

// OnModelError decides what follows a failed call.
func (f *Fallback) OnModelError(ctx context.Context, step *hook.Step, failure message.ModelFailure) (hook.FailureDecision, error) {
	o := f.of(step.Turn().Agent())
	if failure.Class.Passing() {
		f.record(o, failure.Model)
	}
	var p progress
	f.turn.Update(step.Turn(), func(was progress) progress {
		if was.step != step.Number() {
			was = progress{step: step.Number()}
		}
		if was.model != failure.Model {
			was.model, was.failed = failure.Model, 0
		}
		was.failed++
		p = was
		return was
	})
	wait, why := o.wait(ctx, p.failed, failure)
	if why == "" {
		return hook.RetryFailure(wait), nil
	}
	if !mayPassElsewhere(failure.Class) {
		return hook.FailureDecision{}, nil
	}
	p.left = append(slices.Clip(p.left), failure.Model)
	f.turn.Update(step.Turn(), func(progress) progress { return p })
	if next := f.next(o, step, p.left); next != "" {
		return hook.FallbackFailure(next), nil
	}
	if why != gaveUp {
		step.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: fmt.Sprintf("fallback: the model %s is not asked again: %s", failure.Model, why)})
	}
	return hook.FailureDecision{}, nil
}

// mayPassElsewhere reports whether another model may answer what one has failed at. What is
// refused or too long is so for the next one, too.
func mayPassElsewhere(c message.FailureClass) bool { return c.Passing() || c == message.FailureAuth }

// gaveUp is why a model is not asked again after its last try. The error says so.
const gaveUp = "it was tried often enough"

// wait returns the pause before the next try, or why there is none. failed counts the tries
// from 1.
func (o *Options) wait(ctx context.Context, failed int, failure message.ModelFailure) (pause time.Duration, why string) {
	tries := o.Tries
	if failure.Class == message.FailureTimeout { // each has taken minutes
		tries = min(tries, 2)
	}
	switch {
	case !failure.Class.Passing():
		return 0, "its provider refuses"
	case failed >= tries:
		return 0, gaveUp
	case failure.RetryAfter > o.MaxWait:
		return 0, fmt.Sprintf("its provider wants to be left alone for %s, and the limit is %s (max_wait of the section fallback)", failure.RetryAfter, o.MaxWait)
	}
	most := min(o.Pause<<min(failed-1, 20), o.MaxWait)
	pause = failure.RetryAfter + time.Duration(o.Random()*float64(most))
	if pause > o.MaxWait {
		pause = max(o.MaxWait, failure.RetryAfter)
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
		return 0, fmt.Sprintf("the pause of %s is longer than what the turn has left", pause.Round(time.Millisecond))
	}
	return pause, ""
}

// next returns the first model that the step has not given up and whose breaker lets a request
// through; "" if there is none.
func (f *Fallback) next(o Options, step *hook.Step, left []string) string {
	own := step.Turn().Agent().Model.Name
	for _, m := range append([]string{own}, o.Models...) {
		if m != "" && !slices.Contains(left, m) && f.allows(m) {
			return m
		}
	}
	return ""
}

// RewriteRequest sends the request to another model while the breaker of its own is open.
func (f *Fallback) RewriteRequest(ctx context.Context, step *hook.Step, req message.ModelRequest) (message.ModelRequest, error) {
	o := f.of(step.Turn().Agent())
	if len(o.Models) == 0 || f.allows(req.Model.Name) {
		return req, nil
	}
	p := f.turn.Get(step.Turn())
	if p.step != step.Number() {
		p.left = nil
	}
	next := f.next(o, step, append(slices.Clip(p.left), req.Model.Name))
	if next == "" {
		return req, nil
	}
	step.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: fmt.Sprintf("fallback: %s has failed too often lately; asking %s", req.Model.Name, next)})
	req.Model = req.Model.For(next)
	return req, nil
}

// AfterModel notes that a model has answered.
func (f *Fallback) AfterModel(_ context.Context, _ *hook.Step, reply message.ModelReply) (hook.ReplyDecision, error) {
	f.mu.RLock()
	b := f.breakers[reply.Model]
	f.mu.RUnlock()
	if b != nil {
		b.RecordSuccess()
	}
	return hook.ReplyDecision{}, nil
}

// maxBreakers limits the models with a breaker.
const maxBreakers = 100

// record notes a failed call of the model in its breaker.
func (f *Fallback) record(o Options, model string) {
	if o.Failures < 0 {
		return
	}
	f.mu.Lock()
	b := f.breakers[model]
	if b == nil && len(f.breakers) < maxBreakers {
		b = circuitbreaker.NewBuilder[any]().WithFailureThreshold(uint(o.Failures)).WithSuccessThreshold(1).WithDelay(o.OpenFor).Build()
		f.breakers[model] = b
	}
	f.mu.Unlock()
	if b != nil {
		b.RecordFailure()
	}
}

// allows reports whether the model's breaker lets requests through. When the time of an open
// breaker is over it does, until the next one fails. Permits are not counted: a request that a
// hook answers would never give its permit back.
func (f *Fallback) allows(model string) bool {
	f.mu.RLock()
	b := f.breakers[model]
	f.mu.RUnlock()
	if b == nil || !b.IsOpen() {
		return true
	}
	if b.RemainingDelay() > 0 {
		return false
	}
	b.HalfOpen()
	return true
}
