package faults_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/points"
)

var errHook = errors.New("the hook is broken")

// rig is a composite whose members do what the world says that is being played.
type rig struct {
	hook hook.Hook
	w    *world
}

// hookTime is how long a hook may take where it decides or rewrites.
const hookTime = 300 * time.Millisecond

// isBounded reports whether the composite waits no longer than that at the point.
func isBounded(name string) bool {
	for _, info := range point.All() {
		if info.Name == name {
			return info.Kind == "decide" || info.Kind == "rewrite" || info.Kind == "contribute"
		}
	}
	return false
}

func newRig() (*rig, error) {
	r := &rig{}
	type none struct{}
	c, err := composite.New(&none{})
	if err != nil {
		return nil, err
	}
	var o plan.Options
	for _, info := range point.All() {
		if isBounded(info.Name) {
			o.Points = append(o.Points, plan.PointUse{Name: info.Name, Timeout: plan.Duration(hookTime)})
		}
	}
	all := &chaos{rig: r}
	all.Do = all.meet
	if c, err = c.With("Chaos", all, o); err != nil {
		return nil, err
	}
	if c, err = c.With("Quiet", &quiet{rig: r}, plan.Options{}); err != nil {
		return nil, err
	}
	c, err = c.With("Owner", &owner{rig: r, tools: toolbox()}, plan.Options{})
	r.hook = c
	return r, err
}

// quiet counts what has to come exactly once, and nothing else: no fault of its own
// keeps it from being called.
type quiet struct {
	hook.Nop
	rig *rig
}

// AfterTool implements hook.AfterTool.
func (q *quiet) AfterTool(_ context.Context, call *hook.ToolCall, _ hook.ToolOutcome) (hook.OutcomeDecision, error) {
	w := q.rig.w
	w.mu.Lock()
	w.after[callKey(call)]++
	w.mu.Unlock()
	return hook.OutcomeDecision{}, nil
}

// AfterTurn implements hook.AfterTurn.
func (q *quiet) AfterTurn(_ context.Context, turn *hook.Turn, _ hook.TurnOutcome) {
	w := q.rig.w
	w.mu.Lock()
	w.ended[turn.ID()]++
	w.mu.Unlock()
}

// OnEvent implements hook.Hook.
func (q *quiet) OnEvent(_ context.Context, ev hook.Event) {
	if w := q.rig.w; w != nil && ev.Conversation != "" && ev.Seq > 0 { // what is internal has no number
		w.mu.Lock()
		w.events = append(w.events, ev)
		w.mu.Unlock()
	}
}

func callKey(call *hook.ToolCall) string { return call.Step().Turn().ID() + "/" + call.ID() }

// chaos has faults at every point.
type chaos struct {
	points.Hook
	rig *rig
}

// faulty reports whether something is to go wrong there, once in n times.
func (w *world) faulty(point, id string, n int) bool {
	return !w.calm.Load() && one(dice(w.seed, "fault", point, id), n)
}

// misbehave plays the fault of a hook at a point, if there is one: a panic, an
// error, a hang until ctx ends, one for longer. Otherwise it returns the number of
// the answer to give, from 0 to answers-1, or -1 for none.
func (w *world) misbehave(ctx context.Context, point, id string, answers int) (answer int, err error) {
	return w.misbehaves(ctx, point, id, answers, 16)
}

// often is misbehave for a point that seldom comes up.
func (w *world) often(ctx context.Context, point, id string, answers int) (answer int, err error) {
	return w.misbehaves(ctx, point, id, answers, 2)
}

// misbehaves plays a fault once in n times.
func (w *world) misbehaves(ctx context.Context, point, id string, answers, n int) (answer int, err error) {
	w.mu.Lock()
	w.visits[point+id]++
	visit := w.visits[point+id]
	w.mu.Unlock()
	d := dice(w.seed, "hook", point, id, fmt.Sprint(visit))
	if w.calm.Load() || !one(d, n) {
		return -1, nil
	}
	switch kind := d.IntN(6); {
	case kind == 0:
		w.counts.add(point + " panic")
		panic("boom")
	case kind == 1:
		w.counts.add(point + " error")
		return -1, errHook
	case kind == 2 && isBounded(point):
		w.counts.add(point + " hang")
		<-ctx.Done()
		return -1, ctx.Err()
	case kind == 3 && isBounded(point):
		w.counts.add(point + " ignores ctx")
		<-w.release
		return -1, nil
	case answers > 0:
		w.counts.add(point + " answer")
		return d.IntN(answers), nil
	}
	return -1, nil
}

func stepID(s *hook.Step) string { return fmt.Sprintf("%s.%d", s.Turn().ID(), s.Number()) }

// Preprocess implements hook.Hook.
func (c *chaos) Preprocess(ctx context.Context, t *hook.Turn, in message.Input) (message.Input, error) {
	answer, err := c.rig.w.misbehave(ctx, "Preprocess", t.ID(), 1)
	if answer == 0 {
		in = message.Input{Messages: in.Messages.Append(message.UserText("and more"))}
	}
	return in, err
}

// RewriteRequest implements hook.RewriteRequest.
func (c *chaos) RewriteRequest(ctx context.Context, s *hook.Step, req message.ModelRequest) (message.ModelRequest, error) {
	answer, err := c.rig.w.misbehave(ctx, "RewriteRequest", stepID(s), 1)
	if answer == 0 {
		req.System += " Be brief."
	}
	return req, err
}

// BeforeModel implements hook.BeforeModel.
func (c *chaos) BeforeModel(ctx context.Context, s *hook.Step, _ message.ModelRequest) (hook.ModelDecision, error) {
	answer, err := c.rig.w.misbehave(ctx, "BeforeModel", stepID(s), 4)
	switch answer {
	case 0:
		return hook.StopModel("enough"), err
	case 1:
		return hook.RejectModel("no"), err
	case 2:
		return hook.RespondModel(message.ModelReply{Content: message.ListOf(message.TextBlock("instead"))}), err
	case 3:
		call := message.Block{Kind: message.BlockToolCall, CallID: "main_same", Tool: "ok", JSON: `{"s":"hook"}`}
		return hook.RespondModel(message.ModelReply{Content: message.ListOf(call, call), Finish: message.FinishTools}), err
	}
	return hook.ModelDecision{}, err
}

// WrapModel implements hook.WrapModel.
func (c *chaos) WrapModel(ctx context.Context, s *hook.Step, _ message.ModelRequest, next hook.ModelNext) message.ModelStream {
	answer, err := c.rig.w.misbehave(ctx, "WrapModel", stepID(s), 2)
	switch {
	case err != nil:
		return func(yield func(message.Chunk, error) bool) { yield(message.Chunk{}, err) }
	case answer == 0:
		return func(yield func(message.Chunk, error) bool) {
			for chunk := range next.Stream(ctx) {
				yield(chunk, nil)
				return // and the rest is lost
			}
		}
	case answer == 1:
		return func(yield func(message.Chunk, error) bool) {
			for chunk, err := range next.Stream(ctx) {
				if !yield(chunk, err) {
					return
				}
				if chunk.Kind == message.ChunkText {
					panic("boom")
				}
			}
		}
	}
	return next.Stream(ctx)
}

// RewriteReply implements hook.RewriteReply.
func (c *chaos) RewriteReply(ctx context.Context, s *hook.Step, reply message.ModelReply) (message.ModelReply, error) {
	answer, err := c.rig.w.misbehave(ctx, "RewriteReply", stepID(s), 2)
	switch answer {
	case 0:
		reply.Content = reply.Content.Append(message.TextBlock("rewritten"))
	case 1:
		reply.Content = reply.Content.Append(message.Block{Kind: message.BlockToolCall, CallID: "main_same", Tool: "ok", JSON: `{}`})
	}
	return reply, err
}

// AfterModel implements hook.AfterModel.
func (c *chaos) AfterModel(ctx context.Context, s *hook.Step, _ message.ModelReply) (hook.ReplyDecision, error) {
	answer, err := c.rig.w.misbehave(ctx, "AfterModel", stepID(s), 4)
	switch answer {
	case 0, 1:
		c.rig.w.counts.add("AfterModel retry")
		return hook.RetryReply("again"), err
	case 2:
		return hook.RejectReply("no"), err
	case 3:
		return hook.StopReply("enough"), err
	}
	return hook.ReplyDecision{}, err
}

// RewriteArgs implements hook.RewriteArgs.
func (c *chaos) RewriteArgs(ctx context.Context, call *hook.ToolCall, args message.JSON) (message.JSON, error) {
	answer, err := c.rig.w.misbehave(ctx, "RewriteArgs", callKey(call), 4)
	if answer >= 0 {
		args = []message.JSON{`{"s":"rewritten"}`, `{ "s" : "blanks" }`, `{"no":"such"}`, "nonsense"}[answer]
	}
	return args, err
}

// BeforeTool implements hook.BeforeTool.
func (c *chaos) BeforeTool(ctx context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	w := c.rig.w
	answer, err := w.misbehave(ctx, "BeforeTool", callKey(call), 8)
	switch answer {
	case 0:
		return hook.DenyTool("no"), err
	case 1, 2, 3, 4:
		w.counts.add("BeforeTool ask")
		return hook.AskTool("sure?"), err
	case 5:
		return hook.AnswerTool(message.TextResult("instead")), err
	case 6:
		return hook.NarrowTool(hook.Grant{Timeout: time.Second}), err
	case 7:
		return hook.StopTool("enough"), err
	}
	return hook.ToolDecision{}, err
}

// Approve implements hook.Approve.
func (c *chaos) Approve(ctx context.Context, call *hook.ToolCall, _ hook.ToolDecision) (hook.ApprovalDecision, error) {
	w := c.rig.w
	if !w.calm.Load() && !one(dice(w.seed, "approves", callKey(call)), 3) {
		return hook.ApproveCall(), nil
	}
	_, err := w.misbehave(ctx, "Approve", callKey(call), 0)
	switch dice(w.seed, "approval", callKey(call)).IntN(4) {
	case 0:
		w.counts.add("Approve refuse")
		return hook.RefuseCall("no"), err
	case 1:
		w.counts.add("Approve modify")
		return hook.ModifyCall(`{"s":"mine"}`), err
	case 2:
		return hook.ModifyCall("{"), err
	}
	return hook.ApprovalDecision{}, err
}

// WrapTool implements hook.WrapTool.
func (c *chaos) WrapTool(ctx context.Context, call *hook.ToolCall, next hook.ToolNext) message.ToolResult {
	w := c.rig.w
	d := dice(w.seed, "wrap", callKey(call))
	if w.calm.Load() || !one(d, 16) {
		return next.Run(ctx)
	}
	switch d.IntN(4) {
	case 0:
		w.counts.add("WrapTool panic")
		w.touch(call)
		panic("boom")
	case 1:
		w.counts.add("WrapTool panic behind the tool")
		_ = next.Run(ctx)
		panic("boom")
	case 2:
		w.counts.add("WrapTool answer")
		w.touch(call)
		_ = next.Run(ctx)
		return message.TextResult("wrapped")
	}
	if !call.Tool().Annotations.ReadOnly {
		return next.Run(ctx)
	}
	w.counts.add("WrapTool retry")
	_ = next.Run(ctx)
	return next.Run(ctx)
}

// RewriteResult implements hook.RewriteResult.
func (c *chaos) RewriteResult(ctx context.Context, call *hook.ToolCall, r message.ToolResult) (message.ToolResult, error) {
	w := c.rig.w
	w.mayTouch("RewriteResult", call)
	answer, err := w.misbehave(ctx, "RewriteResult", callKey(call), 1)
	if answer == 0 {
		r = message.TextResult("rewritten \xff")
	}
	return r, err
}

// AfterTool implements hook.AfterTool.
func (c *chaos) AfterTool(ctx context.Context, call *hook.ToolCall, _ hook.ToolOutcome) (hook.OutcomeDecision, error) {
	w := c.rig.w
	w.mayTouch("AfterTool", call)
	answer, err := w.misbehave(ctx, "AfterTool", callKey(call), 3)
	switch answer {
	case 0:
		w.counts.add("AfterTool withhold")
		return hook.WithholdOutcome("no"), err
	case 1:
		return hook.ContextOutcome("note"), err
	case 2:
		w.counts.add("AfterTool stop")
		return hook.StopOutcome("enough"), err
	}
	return hook.OutcomeDecision{}, err
}

// OnEvent implements hook.Hook.
func (c *chaos) OnEvent(_ context.Context, ev hook.Event) {
	w := c.rig.w
	if w != nil && ev.Kind != event.HookFailed && w.faulty("OnEvent", fmt.Sprint(ev.Conversation, ev.Seq), 300) {
		w.counts.add("OnEvent panic")
		panic("boom")
	}
}

// touch notes that a hook changes the result of the call.
func (w *world) touch(call *hook.ToolCall) {
	w.mu.Lock()
	w.touched[callKey(call)] = true
	w.mu.Unlock()
}

// mayTouch notes it if misbehave is about to do something other than nothing.
func (w *world) mayTouch(point string, call *hook.ToolCall) {
	w.mu.Lock()
	visit := w.visits[point+callKey(call)] + 1
	w.mu.Unlock()
	if !w.calm.Load() && one(dice(w.seed, "hook", point, callKey(call), fmt.Sprint(visit)), 16) {
		w.touch(call)
	}
}
