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
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Members that their tags have told in the background are told by jobs of a kind of
// their own, which this file queues and does.

// KindBackground is the kind of these jobs. Nobody else queues any.
const KindBackground = "grapnel.background"

// keyLimit is how long the key of such a job may be before it is a hash.
const keyLimit = 200

// task is the payload of such a job.
type task struct {
	Path  string       `json:"path"`
	Point string       `json:"point"`
	View  message.JSON `json:"view"`
}

// later queues a job that tells a member what the view says.
func (r *Runtime) later(ctx context.Context, h *host, of hook.Hook, path string, p hook.Point, view hook.Job) error {
	m, err := r.memberOf(of, path, p)
	if err != nil {
		return err
	}
	s, err := r.jobStore()
	if err != nil {
		return err
	}
	payload, err := json.Marshal(task{m.Path, m.Point.String(), view.Payload})
	if err != nil {
		return fmt.Errorf("write a job down: %w", err)
	}
	about := view.Key
	if about == "" {
		about = r.o.NewID()
	}
	key := m.Path + " " + m.Point.String() + " " + h.log.Conversation() + " " + about
	if len(key) > keyLimit {
		key = event.Digest(message.JSON(key))
	}
	queued, err := s.Enqueue(ctx, store.Job{
		Project: r.o.Project, Job: hook.Job{Kind: KindBackground, Key: key, Payload: message.JSON(payload)}, Conversation: h.log.Conversation(), Turn: h.turnOf(ctx),
	})
	if err != nil {
		return fmt.Errorf("queue a job: %w", err)
	}
	if queued {
		r.record(ctx, h, m, hook.Run{Queued: r.o.Now(), Status: event.RunQueued}) // before it can have been done
		r.jobs.Wake()
	}
	return nil
}

// record tells of a run of the member, if runs are recorded.
func (r *Runtime) record(ctx context.Context, h *host, m composite.InBackground, run hook.Run) {
	if r.o.Events.RecordHooks {
		run.Subsystem, run.Point, run.Visibility = m.Path, m.Point, m.Visibility
		h.Emit(ctx, run.Event())
	}
}

// memberOf finds out who is to be told.
func (r *Runtime) memberOf(of hook.Hook, path string, p hook.Point) (composite.InBackground, error) {
	for _, m := range r.background {
		if m.Composite == of && m.Local == path && m.Point == p {
			return m, nil
		}
	}
	return composite.InBackground{}, fmt.Errorf("no member of the composite is %s and told in the background at %s", path, p)
}

// handlers are those of the program and, if members are told in the background, that
// of their jobs.
func (r *Runtime) handlers() map[string]job.Handler {
	if len(r.background) == 0 {
		return r.o.Jobs.Handlers
	}
	all := maps.Clone(r.o.Jobs.Handlers)
	if all == nil {
		all = map[string]job.Handler{}
	}
	all[KindBackground] = r.tellLater
	return all
}

// tellLater does one of these jobs. A failure is told where nobody is in a turn, and
// the job is tried again.
func (r *Runtime) tellLater(ctx context.Context, j job.Run) error {
	var t task
	if err := json.Unmarshal([]byte(j.Payload), &t); err != nil {
		return &job.GiveUp{Reason: "what was written down cannot be read"}
	}
	i := slices.IndexFunc(r.background, func(m composite.InBackground) bool { return m.Path == t.Path && m.Point.String() == t.Point })
	if i < 0 {
		return &job.GiveUp{Reason: fmt.Sprintf("the composite has no member %s that is told in the background at %s", t.Path, t.Point)}
	}
	m := r.background[i]
	tell, err := r.reader(ctx).Read(m.Point, t.View)
	if err != nil {
		return &job.GiveUp{Reason: "what was written down cannot be read"}
	}
	run := hook.Run{Started: r.o.Now(), Status: event.RunSucceeded, Attempt: j.Attempt}
	ctx = loop.BackgroundContext(ctx, j.Turn)
	f := composite.Alone(ctx, m.As, m.Point, func(ctx context.Context) { tell(ctx, m.Hook) })
	run.Duration = r.o.Now().Sub(run.Started)
	if f == nil && ctx.Err() != nil {
		f = &hook.Failure{Subsystem: m.Path, Point: m.Point, Err: ctx.Err()} // it came back because it had to
	}
	told := context.WithoutCancel(ctx)
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
		r.record(told, r.host, m, run)
		return nil
	}
	run.Reason = f.Public()
	r.record(told, r.host, m, run)
	r.host.Emit(told, f.Event())
	return f
}

// reader reads views back: with the agents that there are, and the history as it is
// now.
func (r *Runtime) reader(ctx context.Context) views.Reader {
	return views.Reader{
		Host: r.host,
		Agent: func(name string) *hook.AgentConfig {
			if a, err := r.Agent(name); err == nil {
				return a.core.Config
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
