package schedule_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/subsystems/schedule"
)

// The program says how a turn is run; the schedule says when, and keeps what became of it.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "schedule-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	s, err := schedule.Open(ctx, filepath.Join(dir, "schedule.db"), &schedule.Options{
		Run: func(_ context.Context, t schedule.Task) (hook.StopReason, error) {
			fmt.Println(t.Agent, "gets:", t.Prompt)
			return hook.StopCompleted, nil
		},
	})
	if err != nil {
		panic(err)
	}
	defer s.OnClose(ctx)
	added, err := s.Add(ctx, schedule.Entry{Name: "log", Agent: "skipper", Prompt: "Write the log.", Cron: "0 18 * * *", Zone: "Europe/Copenhagen"})
	if err != nil {
		panic(err)
	}
	fmt.Println(added.When())
	if err := s.RunNow(ctx, "log", nil); err != nil {
		panic(err)
	}
	runs, err := s.Runs(ctx, "log")
	fmt.Println(len(runs), runs[0].Status, err)
	// Output:
	// 0 18 * * * Europe/Copenhagen
	// skipper gets: Write the log.
	// 1 completed <nil>
}
