package daemon

import (
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/subsystems/schedule"
)

// schedules are those of the project.
type schedules struct{ *schedule.Schedule }

// List returns them by name.
func (s schedules) List(ctx context.Context) ([]wire.Schedule, error) {
	all, err := s.Schedule.List(ctx)
	out := make([]wire.Schedule, len(all))
	for i, one := range all {
		out[i] = scheduleOf(one)
	}
	return out, err
}

// Find returns one with its runs.
func (s schedules) Find(ctx context.Context, name string) (wire.Schedule, error) {
	one, err := s.Schedule.Find(ctx, name)
	if err != nil {
		return wire.Schedule{}, unknownSchedule(err)
	}
	runs, err := s.Runs(ctx, name)
	out := scheduleOf(one)
	for _, r := range runs {
		out.Runs = append(out.Runs, runOf(r))
	}
	return out, unknownSchedule(err)
}

// Remove removes one.
func (s schedules) Remove(ctx context.Context, name string) error {
	return unknownSchedule(s.Schedule.Remove(ctx, name))
}

func scheduleOf(s schedule.Scheduled) wire.Schedule {
	out := wire.Schedule{
		Name: s.Name, Agent: s.Agent, Sender: s.Sender, Prompt: s.Prompt, When: s.When(), Late: string(s.Late),
		Created: s.Created.UTC(), Next: s.Next.UTC(), Missed: s.Missed, MissedLast: s.MissedLast.UTC(),
	}
	if s.Last != nil {
		last := runOf(*s.Last)
		out.Last = &last
	}
	return out
}

func runOf(r schedule.Run) wire.ScheduleRun {
	return wire.ScheduleRun{
		Due: r.Due.UTC(), Began: r.Began.UTC(), Ended: r.Ended.UTC(), Conversation: r.Conversation, Turn: r.Turn, Status: string(r.Status), Note: r.Note,
	}
}

// unknownSchedule makes the error of a name that no schedule has that of the API.
func unknownSchedule(err error) error {
	if errors.Is(err, schedule.ErrUnknown) {
		return api.NotFound(err)
	}
	return err
}
