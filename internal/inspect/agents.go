package inspect

import (
	"fmt"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/term/console"
)

// Reloaded shows what a reload has done.
func Reloaded(c *console.Console, r wire.Reloaded, asJSON bool) error {
	if asJSON {
		return c.JSON(r)
	}
	out := screen.New(c.Written)
	for _, part := range []struct {
		what  string
		names []string
	}{{"added", r.Added}, {"updated", r.Updated}, {"removed", r.Removed}} {
		if len(part.names) > 0 {
			if err := out.Print(screen.Format("%s: %s\n", part.what, strings.Join(part.names, ", "))); err != nil {
				return err
			}
		}
	}
	for _, no := range r.Refused {
		if err := out.Print(screen.Format("refused: %s: %s\n", no.Agent, no.Why)); err != nil {
			return err
		}
	}
	for _, s := range r.Settings {
		if err := out.Print(screen.Format("not yet: %s\n", screen.Line(settingText(s)))); err != nil {
			return err
		}
	}
	return out.Print(screen.Format("unchanged: %d\n", r.Unchanged))
}

// settingText says what has changed and what makes it count.
func settingText(s wire.ChangedSetting) string {
	text := s.File
	if s.Setting != "" {
		text += ": " + s.Setting
	}
	if s.Problem != "" {
		return text + " is wrong, and the daemon would not start again: " + s.Problem
	}
	return text + " has changed; start the daemon again to use it"
}

// AgentStats shows what the agents of a daemon have done.
func AgentStats(c *console.Console, s wire.Stats, asJSON bool) error {
	if asJSON {
		return c.JSON(s)
	}
	table := [][]string{{"AGENT", "RUNNING", "TURNS", "NOT COMPLETED", "STEPS", "CALLS", "INPUT", "OUTPUT", "COST", "AVERAGE", "LAST"}}
	for _, a := range s.Agents {
		average, last := "-", "-"
		if a.Turns > 0 {
			average = term.Took(time.Duration(a.Millis/int64(a.Turns)) * time.Millisecond)
			last = a.Last.Local().Format(time.DateTime)
		}
		table = append(table, []string{
			a.Agent, fmt.Sprint(a.Running), fmt.Sprint(a.Turns), notCompleted(a), fmt.Sprint(a.Steps), fmt.Sprint(a.Calls),
			fmt.Sprint(a.Usage.Input), fmt.Sprint(a.Usage.Output), a.Cost.String(), average, last,
		})
	}
	if err := c.Tables(table); err != nil {
		return err
	}
	c.Note("since " + s.Since.Local().Format(time.DateTime))
	return nil
}

// notCompleted returns how many turns did not end by themselves.
func notCompleted(a wire.AgentStats) string {
	return fmt.Sprint(a.Turns - a.Stops[hook.StopCompleted])
}
