package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	views "github.com/grapnel-go/grapnel/internal/view"
	"github.com/grapnel-go/grapnel/runtime/internal/job"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
)

// This file queues and runs the jobs of members tagged background.

// KindBackground is the kind of the jobs that call members tagged background. It is
// reserved for the runtime: hooks cannot queue such jobs, and programs cannot handle them.
const KindBackground = "grapnel.background"

// keyLimit is the longest key of a job in bytes. A longer one is replaced by its hash.
const keyLimit = 200

// task is the payload of a job: a call of the member Path at Point with the arguments View.
type task struct {
	Path  string       `json:"path"`
	Point string       `json:"point"`
	View  message.JSON `json:"view"`
}

var _ composite.JobHost = (*host)(nil)

// TellLater implements composite.JobHost.
func (h *host) TellLater(ctx context.Context, of hook.Hook, path string, p hook.Point, view hook.Job) bool {
	if loop.Abandoned(ctx) || h.ephemeral() { // a job would be kept: it runs at once
		return false
	}
	err := h.rt.queueCall(ctx, h, of, path, p, view)
	if err != nil {
		h.Emit(ctx, hook.Diagnostic{Code: event.CodeBackgroundNotQueued, Text: fmt.Sprintf(
			"no job could be queued for %s at %s: it runs in the background now, and not at all if the process dies: %s", path, p, loop.PublicText(err))}.Event())
	}
	return err == nil
}

// queueCall queues a job that calls the member at the path with the arguments in the view.
func (r *Runtime) queueCall(ctx context.Context, h *host, of hook.Hook, path string, p hook.Point, view hook.Job) error {
	m, err := r.memberOf(of, path, p)
	if err != nil {
		return err
	}
	payload, err := json.Marshal(task{m.Path, m.Point.String(), view.Payload})
	if err != nil {
		return fmt.Errorf("encode a job: %w", err)
	}
	subject := view.Key
	if subject == "" {
		subject = r.o.NewID()
	}
	key := m.Path + " " + m.Point.String() + " " + h.log.Conversation() + " " + subject
	if len(key) > keyLimit {
		key = event.Digest(message.JSON(key))
	}
	return h.queue(ctx, hook.Job{Kind: KindBackground, Key: key, Payload: message.JSON(payload), Version: m.Version}, func() {
		r.record(ctx, h, m, hook.Run{Queued: r.o.Now(), Status: event.RunQueued})
	})
}

// record emits the event of a run of the member, if runs are recorded.
func (r *Runtime) record(ctx context.Context, h *host, m composite.InBackground, run hook.Run) {
	if r.o.Events.RecordHooks {
		run.Subsystem, run.Point, run.Visibility = m.Path, m.Point, m.Visibility
		h.Emit(ctx, run.Event())
	}
}

// memberOf returns the member at the path in the composite, for a call at the point.
func (r *Runtime) memberOf(of hook.Hook, path string, p hook.Point) (composite.InBackground, error) {
	for _, m := range r.jobMembers {
		if m.Composite == of && m.Local == path && m.Point == p {
			return m, nil
		}
	}
	return composite.InBackground{}, fmt.Errorf("the composite has no member %s with the mode background at %s", path, p)
}

// handlers returns the handlers of the program, and with members tagged background also
// the handler of their jobs.
func (r *Runtime) handlers() map[string]job.Handler {
	if len(r.jobMembers) == 0 {
		return r.o.Jobs.Handlers
	}
	all := maps.Clone(r.o.Jobs.Handlers)
	if all == nil {
		all = map[string]job.Handler{}
	}
	all[KindBackground] = r.runCall
	return all
}

// calledBy returns the member that the job with the payload calls.
func (r *Runtime) calledBy(payload message.JSON) (composite.InBackground, bool) {
	var t task
	if json.Unmarshal([]byte(payload), &t) != nil {
		return composite.InBackground{}, false
	}
	i := slices.IndexFunc(r.jobMembers, func(m composite.InBackground) bool { return m.Path == t.Path && m.Point.String() == t.Point })
	if i < 0 {
		return composite.InBackground{}, false
	}
	return r.jobMembers[i], true
}

// runCall runs one job of a member. It emits a failure outside of any turn, and the job is
// retried.
func (r *Runtime) runCall(ctx context.Context, j job.Run) error {
	var t task
	if err := json.Unmarshal([]byte(j.Payload), &t); err != nil {
		return &job.GiveUp{Reason: "the stored arguments of the call cannot be read"}
	}
	m, ok := r.calledBy(j.Payload)
	if !ok {
		return &job.GiveUp{Reason: fmt.Sprintf("the composite has no member %s with the mode background at %s", t.Path, t.Point)}
	}
	call, err := r.reader(ctx, j.Host).Read(m.Point, t.View)
	if err != nil {
		return &job.GiveUp{Reason: "the stored arguments of the call cannot be read"}
	}
	run := hook.Run{Started: r.o.Now(), Status: event.RunSucceeded, Attempt: j.Attempt}
	ctx = loop.BackgroundContext(ctx, j.Turn)
	f := composite.Alone(ctx, m.As, m.Point, func(ctx context.Context) { call(ctx, m.Hook) })
	run.Duration = r.o.Now().Sub(run.Started)
	if f == nil && ctx.Err() != nil {
		f = &hook.Failure{Subsystem: m.Path, Point: m.Point, Err: ctx.Err()} // it returned because its context ended
	}
	lasting := context.WithoutCancel(ctx)
	switch {
	case f == nil:
	case f.Late:
		run.Status = event.RunTimedOut
	case f.Panic:
		run.Status = event.RunPanicked
	case errors.Is(f.Err, context.Canceled):
		run.Status = event.RunInterrupted
	default:
		run.Status = event.RunFailed
	}
	if f == nil {
		r.record(lasting, r.host, m, run)
		return nil
	}
	run.Reason = f.Public()
	r.record(lasting, r.host, m, run)
	r.host.Emit(lasting, f.Event())
	return f
}

// reader returns a reader of stored arguments. It fills in the agents and the history as
// they are now.
func (r *Runtime) reader(ctx context.Context, h hook.Host) views.Reader {
	return views.Reader{
		Host: h,
		Agent: func(name string) *hook.AgentConfig {
			if a, err := r.Agent(name); err == nil {
				return a.Config()
			}
			if r.o.FindAgent != nil {
				if cfg, err := r.o.FindAgent(ctx, name); err == nil {
					return &cfg
				}
			}
			return &hook.AgentConfig{Name: name}
		},
		History: func(conversation string) message.Messages {
			messages, err := r.o.Store.Messages(ctx, conversation)
			if err != nil && len(messages) == 0 {
				return message.Messages{}
			}
			return message.MessagesOf(messages...)
		},
	}
}
