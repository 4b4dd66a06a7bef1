package loop

import (
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/contribution"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
)

// contributing collects the contributions of hooks to a turn.
type contributing struct {
	*Turn
	budget contribution.Budget
	// contributed is what later hooks see of the contributions.
	contributed hook.Contributed
	jobs        []hook.Job
	sections    []hook.PromptSection
}

// contribute asks the hooks for their contributions and applies them. It is false if the turn
// is over.
func (t *Turn) contribute() bool {
	if !t.hooks.HasAny(point.TurnPolicy, point.TurnContext, point.RefineContext, point.TurnTools, point.PromptSections) {
		return true
	}
	c := &contributing{Turn: t, budget: t.env.Limits.Contributions.Filled()}
	ok := c.askPolicies() && c.askContext() && c.askTools() && c.askSections()
	if ok {
		c.keep()
		t.enqueueAll(c.jobs)
	}
	return ok
}

// keep keeps what the model is told, for people who ask.
func (c *contributing) keep() {
	if len(c.sections) == 0 && c.contributed.Context.Len() == 0 {
		c.setup.contributed.Store(nil)
		return
	}
	c.setup.contributed.Store(&Contributed{Turn: c.id, Sections: c.sections, Context: c.contributed.Context.Slice()})
}

func (c *contributing) askPolicies() bool {
	in, ok := collect(c, point.TurnPolicy, c.hooks.TurnPolicy, func(p hook.Policy) hook.Attached { return p.Attached })
	if !ok {
		return false
	}
	merged := contribution.MergePolicies(in)
	c.emitDiagnostics(merged.Diagnostics)
	c.contributed = hook.Contributed{
		Policies: message.Freeze(merged.Holding), Recall: merged.Recall, Fallback: merged.Fallback,
		BlocksLeft: c.budget.Blocks, CharsLeft: c.budget.BlocksChars,
	}
	c.teller.Contribute(c.contributed)
	return true
}

func (c *contributing) askContext() bool {
	of := func(b hook.ContextBlock) hook.Attached { return b.Attached }
	blocks, ok := collect(c, point.TurnContext, c.hooks.TurnContext, of)
	if !ok {
		return false
	}
	merged := c.mergeContext(blocks, nil)
	if c.hooks.Has(point.RefineContext) {
		refined, ok := collect(c, point.RefineContext, c.hooks.RefineContext, of)
		if !ok {
			return false
		}
		merged = c.mergeContext(blocks, refined)
	}
	c.emitDiagnostics(merged.Diagnostics)
	entries := make([]message.Message, len(merged.Blocks))
	for i, b := range merged.Blocks {
		entries[i] = ephemeral(message.LabelContext, contribution.Entry(b))
		entries[i].Trust = message.Weakest(b.Trust)
	}
	c.history.insertEphemeral(c.afterInput(), entries)
	return true
}

// afterInput is the index in the history after the turn's input. Blocks of context go there, so
// that the requests of all steps have the same prefix, which a provider may cache.
func (t *Turn) afterInput() int {
	at := t.firstMessage
	for _, m := range t.place.Input().Messages.All() {
		if !m.Ephemeral {
			at++
		}
	}
	return at
}

// mergeContext merges the blocks and shows the result to later hooks.
func (c *contributing) mergeContext(blocks, refined []hook.ContextBlock) contribution.Context {
	merged := contribution.MergeContext(blocks, refined, c.budget)
	c.contributed.Context, c.contributed.BlocksLeft, c.contributed.CharsLeft = message.Freeze(merged.Blocks), merged.BlocksLeft, merged.CharsLeft
	c.teller.Contribute(c.contributed)
	return merged
}

func (c *contributing) askTools() bool {
	changes, ok := collect(c, point.TurnTools, c.hooks.TurnTools, func(x hook.ToolChange) hook.Attached { return x.Attached })
	if !ok {
		return false
	}
	merged := contribution.MergeTools(changes, c.standing, c.checkBinding)
	c.emitDiagnostics(merged.Diagnostics)
	if len(merged.Hidden) > 0 || len(merged.Added) > 0 {
		c.view = c.answering.overlaid(c.view, merged)
	}
	return true
}

// standing says whether the answering agent may get a tool with the name. A child gets no tool
// that its parent lacks, and a guest gets none.
func (t *Turn) standing(name string) contribution.Standing {
	switch _, s := t.view.Find(name); {
	case s == scope.Available:
		return contribution.Own
	case s == scope.NotAvailable:
		return contribution.Barred
	case t.guestName() != "":
		return contribution.Visiting
	case !scope.SetOf(t.setup.Asked).Has(name):
		return contribution.Unlisted
	}
	if t.parent == nil {
		return contribution.Free
	}
	if !t.parent.lends(name) || !t.allowed.Has(name) {
		return contribution.Above
	}
	return contribution.Free
}

// checkBinding returns an error if the owner of an added tool does not bind its calls.
func (c *contributing) checkBinding(a hook.AddedTool) (err error) {
	c.enterForeign(point.Dispatch)
	defer func() {
		broken := recover() != nil
		c.exitForeign()
		if broken { // the value may quote secrets
			err = errors.New("the Dispatch of its owner panicked")
		}
	}()
	step := hook.NewStep(c.place, 1, c.setup.Config.Model.Name)
	return c.hooks.Binds(c.ctx, a.Owner, hook.NewToolCall(hook.ToolCallData{Step: step, Tool: a.Tool, Args: "{}", Original: "{}"}))
}

func (c *contributing) askSections() bool {
	if c.hooks.Has(point.PromptSections) {
		c.contributed.Tools = c.view.Tools
		c.teller.Contribute(c.contributed)
	}
	sections, ok := collect(c, point.PromptSections, c.hooks.PromptSections, func(s hook.PromptSection) hook.Attached { return s.Attached })
	if !ok {
		return false
	}
	merged := contribution.MergeSections(sections, c.budget)
	c.emitDiagnostics(merged.Diagnostics)
	if c.sections = merged.Kept; len(c.sections) > 0 {
		v := *c.view
		v.Prompt = contribution.Prompt(v.Prompt, c.sections)
		c.view = &v
	}
	return true
}

// collect asks the hooks for one kind of contribution, and takes its jobs and diagnostics. An
// error is the failure of a member that fails closed: it fails the turn. collect is false if the
// turn is over.
func collect[T any](c *contributing, at hook.Point, ask func(context.Context, *hook.Turn) ([]T, error), attached func(T) hook.Attached) ([]T, bool) {
	if !c.hooks.Has(at) {
		return nil, true
	}
	c.enterForeign(at)
	in, err := ask(c.ctx, c.place)
	c.exitForeign()
	switch {
	case c.ctx.Err() != nil:
		return nil, c.signalCancelled()
	case err != nil:
		return nil, c.failHook(err)
	}
	along := contribution.Collect(in, attached)
	c.emitDiagnostics(along.Diagnostics)
	c.jobs = append(c.jobs, along.Jobs...)
	return in, true
}

// emitDiagnostics emits diagnostics up to a limit.
func (t *Turn) emitDiagnostics(ds []hook.Diagnostic) {
	for _, d := range contribution.Bounded(ds) {
		t.emit(d.Event())
	}
}

// enqueueAll queues jobs. It emits a diagnostic for a job that it cannot queue.
func (t *Turn) enqueueAll(jobs []hook.Job) {
	for _, j := range jobs {
		if err := t.thread.Host.Enqueue(t.ctx, j); err != nil {
			t.emit(hook.Event{Kind: event.Diagnostic, Text: PublicText(err)})
		}
	}
}
