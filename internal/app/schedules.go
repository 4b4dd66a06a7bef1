package app

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/schedule"
)

// OpenSchedules opens the schedules of the project. run runs what is due once Start is called; nil
// runs nothing. note gets a sentence about each missed or failed run. The caller closes them.
func OpenSchedules(ctx context.Context, p Paths, run func(context.Context, schedule.Task) (hook.StopReason, error), note func(string)) (*schedule.Schedule, error) {
	return schedule.Open(ctx, p.Schedules, &schedule.Options{Project: p.Project(), Run: run, Note: note})
}

// RunSchedules begins to run what is due. await waits for the registration of an agent. It does
// nothing unless Options.Schedules is set.
func (a *App) RunSchedules(await func(ctx context.Context, agent string) error) {
	a.await = await
	if a.Hooks.Schedule != nil {
		a.Hooks.Schedule.Start()
	}
}

// runScheduled runs the turn of a schedule. A turn of a person in the same conversation comes first.
func (a *App) runScheduled(ctx context.Context, t schedule.Task) (hook.StopReason, error) {
	if err := a.await(ctx, t.Agent); err != nil {
		return "", err
	}
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
