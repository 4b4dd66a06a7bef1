package app

import (
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/subsystems/schedule"
)

// RunSchedules begins to run what is due. await waits for the registration of an agent. It does
// nothing unless Options.Schedules is set.
func (a *App) RunSchedules(await func(ctx context.Context, agent string) error) {
	a.await = await
	if a.Hooks.Schedule != nil {
		a.Hooks.Schedule.Start()
	}
}

// ScheduledIn returns the id of the conversation in which the task runs.
func ScheduledIn(ctx context.Context, p Paths, t schedule.Task) (id string, err error) {
	db, err := OpenConversations(ctx, p, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rec, err := db.Conversation(ctx, store.Key{Project: p.Project(), Agent: t.Agent, Sender: t.Sender})
	return rec.ID, err
}

// runScheduled runs the turn of a schedule. A turn of a person in the same conversation comes first.
func (a *App) runScheduled(ctx context.Context, t schedule.Task) (hook.StopReason, error) {
	agent, err := a.Runtime.Agent(t.Agent)
	if err == nil {
		err = a.CheckModel(agent.Config())
	}
	if err != nil {
		return "", err
	}
	conv, err := agent.Conversation(ctx, t.Sender)
	if err != nil {
		return "", err
	}
	t.Begun(conv.ID(), "")
	turn, err := a.Start(ctx, conv, message.TextInput(t.Prompt), &runtime.TurnOptions{WhenBusy: runtime.Queue})
	if err != nil {
		return "", err
	}
	t.Begun(conv.ID(), turn.ID())
	out := a.Wait(ctx, turn)
	if out.Stop != hook.StopError {
		return out.Stop, nil
	}
	return out.Stop, out.Err
}
