package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/socket"
	"github.com/grapnel-go/grapnel/subsystems/schedule"
)

func (c *command) schedule() *cobra.Command {
	cmd := &cobra.Command{
		Use: "schedule", Short: "Run agents at times and on events", Args: knownCommand,
		Long: "A schedule gives an agent a prompt at the times of a cron line, or when something happens. `grapnel serve` runs what is\n" +
			"due in its project; several daemons over one state directory run it once.",
		RunE: func(*cobra.Command, []string) error {
			return errors.New("say what to do: `grapnel schedule add`, `list`, `remove NAME` or `run NAME`")
		},
	}
	cmd.AddCommand(c.addSchedule(), c.listSchedules(), c.removeSchedule(), c.runSchedule())
	return cmd
}

// inSchedules opens the schedules of the project, calls do and closes them.
func (c *command) inSchedules(ctx context.Context, p place, do func(s *schedule.Schedule, paths app.Paths) error) error {
	return c.inStores(ctx, p, func(stores *app.Stores, paths app.Paths) (err error) {
		s, err := stores.Schedules(ctx, c.Note)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.OnClose(context.WithoutCancel(ctx))) }()
		return do(s, paths)
	})
}

func (c *command) addSchedule() *cobra.Command {
	var p place
	var e schedule.Entry
	var on string
	cmd := &cobra.Command{
		Use:   `add ["CRON LINE"] "prompt"`,
		Short: "Add a schedule",
		Long: "Adds a schedule: a cron line (minute, hour, day of the month, month, day of the week) or an event with --on, and the\n" +
			"prompt. Each run is a turn of one conversation, which `grapnel conversations` shows. Nobody is there to approve a tool\n" +
			"call, so give the agent rules that allow what it needs.",
		Example: "  grapnel schedule add \"0 7 * * 1-5\" \"Write today's summary to NEWS.md.\" --name news\n" +
			"  grapnel schedule add --on \"turn_end agent=helper stop=error\" \"Find out what went wrong.\" --agent doctor",
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			switch {
			case on != "" && len(args) == 1:
				e.Prompt = args[0]
				e.On, err = schedule.ParseOn(on)
			case on == "" && len(args) == 2:
				e.Cron, e.Prompt = args[0], args[1]
			case on != "":
				err = fmt.Errorf("with --on there is one argument, the prompt; there are %d", len(args))
			default:
				err = fmt.Errorf(`there are %d arguments; write a cron line and a prompt, each in quotes: grapnel schedule add "0 7 * * *" "What is new?"`, len(args))
			}
			if err == nil {
				e.Prompt, err = c.Prompt(e.Prompt)
			}
			if err != nil {
				return err
			}
			return c.inSchedules(cmd.Context(), p, func(s *schedule.Schedule, paths app.Paths) error {
				return c.newSchedule(cmd.Context(), s, paths, e, p.json)
			})
		},
	}
	p.flags(cmd)
	cmd.Flags().StringVar(&e.Name, "name", "", "its name (default: the agent's, with a number)")
	cmd.Flags().StringVar(&e.Agent, "agent", app.DefaultAgent, "the agent that runs; grapnel agents lists them")
	cmd.Flags().StringVar(&e.Sender, "sender", "", "run in the conversation of this sender (default: one of its own)")
	cmd.Flags().StringVar(&e.Zone, "tz", "", "the time zone of the cron line, as in Europe/Berlin (default: that of this machine)")
	cmd.Flags().StringVar(&on, "on", "", "the event, instead of a cron line: KIND agent=NAME tool=NAME stop=REASON text=PART")
	cmd.Flags().StringVar((*string)(&e.Late), "missed", string(schedule.LateReport), "when no daemon ran in time: report, or run once as well")
	return cmd
}

// newSchedule adds the entry. A name that nobody gave is the agent's with the first free number.
func (c *command) newSchedule(ctx context.Context, s *schedule.Schedule, paths app.Paths, e schedule.Entry, asJSON bool) error {
	if err := c.knownAgent(ctx, paths, e.Agent); err != nil {
		return err
	}
	given := e.Name
	for n := 1; ; n++ {
		if given == "" {
			e.Name = fmt.Sprintf("%s-%d", strings.ToLower(e.Agent), n)
		}
		added, err := s.Add(ctx, e)
		if given == "" && errors.Is(err, schedule.ErrExists) {
			continue
		}
		if err != nil {
			return err
		}
		if asJSON {
			return c.JSON(added)
		}
		text := fmt.Sprintf("added: %s, %s", added.Name, added.When())
		if !added.Next.IsZero() {
			text += ", next at " + added.Next.Local().Format(time.DateTime)
		}
		if c.projectDaemon(ctx, paths) == nil {
			c.Note("no daemon runs in this project; `grapnel serve` runs what is due")
		}
		return c.Say(text)
	}
}

// knownAgent returns an error unless the project or its daemon has the agent.
func (c *command) knownAgent(ctx context.Context, paths app.Paths, name string) error {
	unknown := app.CheckAgent(paths, name)
	if unknown == nil {
		return nil
	}
	if d := c.projectDaemon(ctx, paths); d != nil {
		if _, err := d.Agent(ctx, name); err == nil {
			return nil
		}
	}
	return unknown
}

// projectDaemon returns a client of the daemon that serves the project; nil if none does.
func (c *command) projectDaemon(ctx context.Context, paths app.Paths) *client.Client {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	d := client.New(socket.Default(paths.State, c.getenv), nil)
	if health, err := d.Health(ctx); err != nil || daemon.Mismatch(health, paths) != "" {
		return nil
	}
	return d
}

func (c *command) listSchedules() *cobra.Command {
	var p place
	cmd := &cobra.Command{
		Use: "list [NAME]", Short: "List the schedules of the project, or the runs of one", Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.inSchedules(cmd.Context(), p, func(s *schedule.Schedule, _ app.Paths) error {
				if len(args) == 1 {
					return c.showRuns(cmd.Context(), s, args[0], p.json)
				}
				all, err := s.List(cmd.Context())
				if err != nil {
					return err
				}
				return c.showSchedules(all, p.json)
			})
		},
	}
	p.flags(cmd)
	return cmd
}

func (c *command) showSchedules(all []schedule.Scheduled, asJSON bool) error {
	if asJSON {
		return c.JSON(append([]schedule.Scheduled{}, all...))
	}
	if len(all) == 0 {
		c.Note("this project has no schedules yet; `grapnel schedule add --help` shows how to add one")
		return nil
	}
	rows := [][]string{{"NAME", "WHEN", "AGENT", "NEXT", "LAST", "MISSED", "PROMPT"}}
	for _, s := range all {
		last, missed := "-", "-"
		if s.Last != nil {
			last = fmt.Sprintf("%s %s", s.Last.Status, at(s.Last.Began))
		}
		if s.Missed > 0 {
			missed = fmt.Sprintf("%d, last %s", s.Missed, at(s.MissedLast))
		}
		rows = append(rows, []string{s.Name, s.When(), s.Agent, at(s.Next), last, missed, strings.Join(strings.Fields(s.Prompt), " ")})
	}
	return c.Tables(rows)
}

// at returns the time for a table; "-" for none.
func at(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateTime)
}

func (c *command) showRuns(ctx context.Context, s *schedule.Schedule, name string, asJSON bool) error {
	runs, err := s.Runs(ctx, name)
	if err != nil {
		return unknownSchedule(err)
	}
	if asJSON {
		return c.JSON(append([]schedule.Run{}, runs...))
	}
	if len(runs) == 0 {
		c.Note("the schedule " + name + " has not run yet")
		return nil
	}
	rows := [][]string{{"BEGAN", "ENDED", "STATUS", "CONVERSATION", "WHY"}}
	for _, r := range runs {
		conversation := r.Conversation
		if conversation == "" {
			conversation = "-"
		}
		rows = append(rows, []string{at(r.Began), at(r.Ended), string(r.Status), conversation, r.Note})
	}
	return c.Tables(rows)
}

func unknownSchedule(err error) error {
	if errors.Is(err, schedule.ErrUnknown) {
		return fmt.Errorf("%w; `grapnel schedule list` shows them", err)
	}
	return err
}

func (c *command) removeSchedule() *cobra.Command {
	var p place
	cmd := &cobra.Command{
		Use: "remove NAME", Short: "Remove a schedule; its conversation stays", Args: oneName("schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.inSchedules(cmd.Context(), p, func(s *schedule.Schedule, _ app.Paths) error {
				if err := s.Remove(cmd.Context(), args[0]); err != nil {
					return unknownSchedule(err)
				}
				return c.Say("removed: " + args[0])
			})
		},
	}
	p.flags(cmd)
	return cmd
}

func (c *command) runSchedule() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: "run NAME", Short: "Run a schedule now, and show it", Args: oneName("schedule"),
		Long: "Runs a schedule now, on the daemon of the project or in this process, and shows it. What needs approval is asked here.\n" +
			"The times of the schedule stay as they are.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.inSchedules(cmd.Context(), f.place, func(s *schedule.Schedule, paths app.Paths) error {
				return unknownSchedule(c.runNow(cmd.Context(), s, f, paths, args[0]))
			})
		},
	}
	f.place.flags(cmd)
	cmd.Flags().BoolVar(&f.yes, "yes", false, "allow every tool call without asking")
	f.trust.add(cmd)
	return cmd
}

// runNow runs the schedule as `grapnel run` runs a prompt.
func (c *command) runNow(ctx context.Context, s *schedule.Schedule, f runFlags, paths app.Paths, name string) error {
	var outcome error
	err := s.RunNow(ctx, name, func(ctx context.Context, t schedule.Task) (hook.StopReason, error) {
		f.agent, f.sender = t.Agent, t.Sender
		place := func() bool {
			id, err := app.ScheduledIn(ctx, paths, t)
			if err == nil {
				t.Begun(id, "")
			}
			return err == nil
		}
		known := place() // before its events, which begin no runs
		outcome = c.turns(ctx, f, false, []string{t.Prompt})
		if !known { // nothing was stored before
			place()
		}
		if shown, ok := errors.AsType[*failed](outcome); ok && shown.err == nil {
			if shown.code == exitInterrupted {
				return hook.StopUserRequested, nil
			}
			return hook.StopError, nil
		}
		return hook.StopCompleted, outcome
	})
	if outcome != nil {
		return outcome
	}
	return err
}
