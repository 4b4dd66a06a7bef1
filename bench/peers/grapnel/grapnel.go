// Package grapnel does the work with Grapnel: a generated composite, the runtime, and
// a store. A turn is a turn of a conversation, which it keeps: every one adds its
// messages to the history. Events are told, scopes checked, hooks isolated, times taken.
package grapnel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/grapnel-go/grapnel/bench/work"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// Subject is Grapnel.
var Subject = work.Subject{Name: "grapnel", Agents: agents, Start: start}

const agent = "a"

func start(ctx context.Context, t work.Turn) (*work.Running, error) {
	all := work.NewLedgers(t)
	rt, st, closeAll, err := openRuntime(ctx, t, all)
	if err != nil {
		return nil, err
	}
	registered, err := rt.Register(ctx, hook.AgentConfig{Name: agent})
	if err != nil {
		return nil, errors.Join(err, closeAll())
	}
	convs := make([]*runtime.Conversation, len(all))
	for i := range convs {
		if convs[i], err = conversation(ctx, registered, st, t, i); err != nil {
			return nil, errors.Join(err, closeAll())
		}
	}
	in := message.TextInput(work.Say)
	options := make([]runtime.TurnOptions, len(all))
	if t.Deltas > 0 {
		for i, l := range all {
			options[i].Observe = func(e hook.Event) {
				if e.Kind == event.TextDelta {
					l.Delta(e.Text)
				}
			}
		}
	}
	return &work.Running{
		Send: func(ctx context.Context, i int) error {
			all[i].Begin()
			out, err := convs[i].Send(all.With(ctx, i), in, &options[i])
			if err := cmp.Or(err, out.Err); err != nil {
				return err
			}
			return all[i].End(out.Text())
		},
		Close: closeAll,
	}, nil
}

func openRuntime(ctx context.Context, t work.Turn, all work.Ledgers) (*runtime.Runtime, store.Store, func() error, error) {
	h, err := newAgent(t, all)
	if err != nil {
		return nil, nil, nil, err
	}
	st, err := open(ctx, t.Dir)
	if err != nil {
		return nil, nil, nil, err
	}
	rt := runtime.New(h, model{t, all}, &runtime.Options{Store: st})
	if err := rt.Open(ctx); err != nil {
		return nil, nil, nil, errors.Join(err, st.Close())
	}
	return rt, st, func() error { return errors.Join(rt.Close(context.WithoutCancel(ctx)), st.Close()) }, nil
}

// agents are registered with a runtime that has one composite. It keeps their
// conversations.
func agents(ctx context.Context, t work.Turn) (*work.Agents, error) {
	all := work.NewLedgers(t)
	rt, _, closeAll, err := openRuntime(ctx, t, all)
	if err != nil {
		return nil, err
	}
	in := message.TextInput(work.Say)
	return &work.Agents{
		Register: func(ctx context.Context, i int) error {
			_, err := rt.Register(ctx, hook.AgentConfig{Name: work.AgentName(i)})
			return err
		},
		Send: func(ctx context.Context, i int) error {
			all[0].Begin()
			a, err := rt.Agent(work.AgentName(i))
			if err != nil {
				return err
			}
			conv, err := a.Conversation(ctx, "s")
			if err != nil {
				return err
			}
			out, err := conv.Send(ctx, in, nil)
			if err := cmp.Or(err, out.Err); err != nil {
				return err
			}
			return all[0].End(out.Text())
		},
		Close: closeAll,
	}, nil
}

// closing is a store of which we are the owner.
type closing interface {
	store.Store
	Close() error
}

func open(ctx context.Context, dir string) (closing, error) {
	if dir == "" {
		return mem.New(nil), nil
	}
	return sqlite.Open(ctx, filepath.Join(dir, "grapnel.db"), nil)
}

// conversation gives a conversation its history of old, before the runtime looks at it.
func conversation(ctx context.Context, a *runtime.Agent, st store.Store, t work.Turn, i int) (*runtime.Conversation, error) {
	sender := strconv.Itoa(i)
	rec, err := st.Conversation(ctx, store.Key{Agent: agent, Sender: sender})
	if err != nil {
		return nil, err
	}
	old := make([]message.Message, t.Messages)
	for i := range old {
		person, text := work.Old(i)
		old[i] = message.UserText(text)
		if !person {
			old[i] = message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock(text))}
		}
	}
	if _, err := st.Append(ctx, rec.ID, store.Append{Messages: message.MessagesOf(old...)}); err != nil {
		return nil, fmt.Errorf("laying the history: %w", err)
	}
	return a.Conversation(ctx, sender)
}
