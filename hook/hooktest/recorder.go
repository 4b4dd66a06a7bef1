package hooktest

import (
	"context"
	"slices"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Recorder is a [hook.Host] that records the calls of hooks and answers from its tables.
// The zero Recorder has no answers: nobody can be asked, and there are no agents and no
// model. Safe for concurrent use; set the tables before the first use.
type Recorder struct {
	// Answers are the answers to inquiries, by the text of their first question. For
	// any other inquiry the error is hook.ErrNoTurn.
	Answers map[string]hook.Response
	// Outcomes are how the turns of agents end, by the agent's name. The error of
	// RunAgent is the outcome's; for any other agent it is hook.ErrNoTurn.
	Outcomes map[string]hook.TurnOutcome
	// Replies are the answers of the model, one for each call in their order. After
	// the last one the error is hook.ErrBudget; without any it is hook.ErrNoTurn.
	Replies []message.ModelReply

	none    hook.NoHost
	mu      sync.Mutex
	events  []hook.Event
	asked   []hook.Inquiry
	ran     []hook.AgentRun
	called  []message.ModelRequest
	reasons []string // of compactions
	queued  []hook.Job
}

var _ hook.Host = (*Recorder)(nil)

// Emit keeps the event. Like a runtime it numbers the events from 1.
func (r *Recorder) Emit(_ context.Context, ev hook.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ev.Seq = uint64(len(r.events)) + 1
	r.events = append(r.events, ev)
}

// Ask keeps the inquiry and answers it from Answers.
func (r *Recorder) Ask(ctx context.Context, q hook.Inquiry) (hook.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, q)
	if q.Questions.Len() > 0 {
		if answer, ok := r.Answers[q.Questions.At(0).Text]; ok {
			return answer, nil
		}
	}
	return r.none.Ask(ctx, q)
}

// RunAgent keeps the run and answers it from Outcomes.
func (r *Recorder) RunAgent(ctx context.Context, run hook.AgentRun) (hook.TurnOutcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ran = append(r.ran, run)
	if out, ok := r.Outcomes[run.Agent]; ok {
		return out, out.Err
	}
	return r.none.RunAgent(ctx, run)
}

// CallModel keeps the request and answers it from Replies.
func (r *Recorder) CallModel(ctx context.Context, req message.ModelRequest) (message.ModelReply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.called = append(r.called, req)
	switch n := len(r.called); {
	case n <= len(r.Replies):
		return r.Replies[n-1], nil
	case len(r.Replies) > 0:
		return message.ModelReply{}, hook.ErrBudget
	}
	return r.none.CallModel(ctx, req)
}

// Compact keeps the reason. There is nothing to compact.
func (r *Recorder) Compact(_ context.Context, why string, _ hook.CompactOptions) (hook.Compacted, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reasons = append(r.reasons, why)
	return hook.Compacted{}, nil
}

// Enqueue keeps the job, once for its kind and key.
func (r *Recorder) Enqueue(_ context.Context, job hook.Job) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(r.queued, func(j hook.Job) bool { return j.Kind == job.Kind && j.Key == job.Key }) {
		r.queued = append(r.queued, job)
	}
	return nil
}

// Go calls run and waits for it.
func (r *Recorder) Go(ctx context.Context, path string, run func(context.Context)) error {
	return r.none.Go(ctx, path, run)
}

// Events returns a copy of the events emitted so far, in order.
func (r *Recorder) Events() []hook.Event { return kept(r, &r.events) }

// Asked returns a copy of the inquiries so far, in order.
func (r *Recorder) Asked() []hook.Inquiry { return kept(r, &r.asked) }

// Ran returns a copy of the runs of agents so far, in order.
func (r *Recorder) Ran() []hook.AgentRun { return kept(r, &r.ran) }

// Called returns a copy of the model calls so far, in order.
func (r *Recorder) Called() []message.ModelRequest { return kept(r, &r.called) }

// Compactions returns the reasons of the compactions asked for so far, in order.
func (r *Recorder) Compactions() []string { return kept(r, &r.reasons) }

// Queued returns a copy of the jobs so far, in order.
func (r *Recorder) Queued() []hook.Job { return kept(r, &r.queued) }

func kept[T any](r *Recorder, of *[]T) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(*of)
}

// Kinds returns the kinds of the events emitted so far, in order.
func (r *Recorder) Kinds() []hook.EventKind {
	events := r.Events()
	kinds := make([]hook.EventKind, len(events))
	for i, ev := range events {
		kinds[i] = ev.Kind
	}
	return kinds
}
