package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/term/console"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Runs says which hook runs and jobs are shown.
type Runs struct {
	// ID shows one record with its attempts; "" lists them.
	ID                              string
	Conversation, Subsystem, Status string
	// Limit is how many are listed at most, from 1.
	Limit int
	// JSON writes JSON, for programs.
	JSON bool
}

// statuses are those that a record can have.
func statuses() []string {
	return []string{
		string(event.RunQueued), string(event.RunRunning), string(event.RunSucceeded), string(event.RunDenied), string(event.RunFailed),
		string(event.RunTimedOut), string(event.RunPanicked), string(event.RunInterrupted), string(event.RunSkipped),
	}
}

// ShowRuns shows records of hook runs and jobs of the project, the newest first.
func ShowRuns(ctx context.Context, c *console.Console, p app.Paths, o Runs) error {
	if o.Limit < 1 || o.Limit > store.MaxRuns {
		return fmt.Errorf("--limit %d is no number from 1 to %d", o.Limit, store.MaxRuns)
	}
	if o.Status != "" && !slices.Contains(statuses(), o.Status) {
		return fmt.Errorf("--status %q is not known; write one of %s", o.Status, strings.Join(statuses(), ", "))
	}
	f := store.RunFilter{
		Project: p.Project(), ID: o.ID, Conversation: o.Conversation, Subsystem: o.Subsystem, Status: hook.RunStatus(o.Status), Limit: o.Limit,
	}
	runs, err := stored(ctx, p, c.Note, func(s keeps) ([]store.Run, error) { return app.Runs(ctx, p, s, f) })
	switch {
	case err != nil:
		return err
	case o.ID != "" && len(runs) == 0:
		return fmt.Errorf("there is no record %.80q in this project; grapnel runs lists the last ones", o.ID)
	case o.JSON:
		return c.JSON(struct {
			Runs []store.Run `json:"runs"`
		}{append([]store.Run{}, runs...)})
	case len(runs) == 0:
		c.Note("no hook run and no job is recorded here that fits; grapnel run --hooks, chat --hooks and serve --hooks record hook runs, and jobs are always recorded")
		return nil
	case o.ID != "":
		return c.Whole(facts(runs[0]), attempts(runs[0]))
	}
	table := [][]string{{"STARTED", "POINT", "FIELD", "STATUS", "TOOK", "ABOUT", "ID"}}
	for _, r := range runs {
		table = append(table, []string{at(r), cmp.Or(r.Point, "-"), cmp.Or(r.Subsystem, "-"), status(r), took(r), about(r), r.ID})
	}
	return c.Tables(table)
}

func at(r store.Run) string {
	t := r.Started
	if t.IsZero() {
		t = r.Queued
	}
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

// status says how the run ended, and the answer of one that decided.
func status(r store.Run) string {
	text := string(r.Status)
	if r.Answer != "" && r.Answer != hook.AnswerNone {
		text += ", " + string(r.Answer)
	}
	if n := len(r.Attempts); n > 1 {
		text += fmt.Sprintf(", %d attempts", n)
	}
	return text
}

func took(r store.Run) string {
	if r.Started.IsZero() || r.Ended.IsZero() {
		return "-"
	}
	return term.Took(r.Ended.Sub(r.Started))
}

// about is what the run was about: a call of a tool, or a job.
func about(r store.Run) string {
	switch {
	case r.Tool != "":
		return r.Tool + " " + r.CallID
	case r.Job != "":
		return "job " + r.Job
	case r.CallID != "":
		return r.CallID
	}
	return "-"
}

func facts(r store.Run) [][]string {
	rows := [][]string{{"RUN", r.ID}, {"status", status(r)}}
	for _, f := range [][2]string{
		{"point", r.Point}, {"field", r.Subsystem}, {"job", r.Job}, {"tool", r.Tool}, {"call", r.CallID}, {"why", r.Error},
		{"conversation", r.Conversation}, {"turn", r.Turn}, {"process", r.Owner},
		{"queued", moment(r.Queued)}, {"started", moment(r.Started)}, {"ended", moment(r.Ended)},
	} {
		if f[1] != "" {
			rows = append(rows, []string{f[0], f[1]})
		}
	}
	return rows
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05.000")
}

// attempts is the table of a job's attempts; nil for a run without any.
func attempts(r store.Run) [][]string {
	if len(r.Attempts) == 0 {
		return nil
	}
	table := [][]string{{"ATTEMPT", "STARTED", "STATUS", "TOOK", "WHY"}}
	for _, a := range r.Attempts {
		took := "-"
		if a.Status != event.RunRunning {
			took = term.Took(time.Duration(a.DurationMS * float64(time.Millisecond)))
		}
		table = append(table, []string{fmt.Sprint(a.Number), moment(a.Started), string(a.Status), took, cmp.Or(a.Error, "-")})
	}
	return table
}
