package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term/console"
	"github.com/grapnel-go/grapnel/subsystems/audit"
)

func (c *command) audit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show and check the record of what agents did and who allowed it",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("say what to do: `grapnel audit show` or `grapnel audit verify`")
		},
	}
	cmd.AddCommand(c.showAudit(), c.verifyAudit())
	return cmd
}

func (c *command) showAudit() *cobra.Command {
	var p place
	var o audited
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the last records of the project",
		Long: "Shows the last records of the project in the working directory, and checks the whole record while it reads it. With --json\n" +
			"each record comes as it was written, with the digests of what it is about, and the contents where they were asked for.",
		Example: "  grapnel audit show --tool bash\n  grapnel audit show --all --limit 0 --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.json = p.json
			err := c.inStores(cmd.Context(), p, func(s *app.Stores, paths app.Paths) error {
				return showRecords(&c.Console, s.Audit(), paths.Project(), o)
			})
			if errors.Is(err, audit.ErrDamaged) {
				return &failed{exitFailed, err}
			}
			return err
		},
	}
	p.flags(cmd)
	cmd.Flags().StringVar(&o.conversation, "conversation", "", "only those of this conversation")
	cmd.Flags().StringVar(&o.turn, "turn", "", "only those of this turn")
	cmd.Flags().StringVar(&o.tool, "tool", "", "only those about calls of this tool")
	cmd.Flags().IntVar(&o.limit, "limit", 50, "how many of the last to show; 0 is all")
	cmd.Flags().BoolVar(&o.all, "all", false, "show all projects")
	return cmd
}

func (c *command) verifyAudit() *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Check that nobody has changed the record",
		Long: "Checks every record of all projects: that each is as it was written, in its place, and that none is missing, at the end\n" +
			"neither. It ends with 1 if something was changed. Who can read the key beside the records can forge them.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.inStores(cmd.Context(), place{}, func(s *app.Stores, paths app.Paths) error {
				v, err := s.Audit().Verify()
				if err != nil {
					return &failed{exitFailed, err}
				}
				in := fmt.Sprintf("files: %d", v.Files)
				if paths.Database != "" {
					in = fmt.Sprintf("nodes: %d", len(v.Nodes))
				}
				return screen.New(c.Written).Print(screen.Format("none was changed, and none is missing; records: %d, %s\n", v.Records, in))
			})
		},
	}
}

// audited says which records of the audit are shown.
type audited struct {
	// conversation, turn and tool select; "" is all.
	conversation, turn, tool string
	// limit is how many of the last are shown; 0 is all.
	limit int
	// all shows all projects, and json writes them for programs.
	all, json bool
}

// shown is a record, and as it was written.
type shown struct {
	audit.Record
	data json.RawMessage
}

// showRecords shows records of the project, the oldest first. It checks them all.
func showRecords(c *console.Console, log app.AuditRecord, project string, o audited) error {
	records, err := o.last(c, log, project)
	if err != nil {
		return err
	}
	if o.json {
		for _, r := range records {
			if err := c.JSON(r.data); err != nil {
				return err
			}
		}
		return nil
	}
	if len(records) == 0 {
		c.Note("nothing is recorded here; give an agent the section audit, or write `audit: {}` in ~/.grapnel/config.yaml for all")
		return nil
	}
	table := [][]string{{"N", "TIME", "AGENT", "TURN", "WHAT", "TOOL", "DECISION", "BY"}}
	for _, r := range records {
		table = append(table, []string{
			fmt.Sprint(r.N), r.Time.Local().Format(time.DateTime), strings.Repeat("  ", r.Depth) + r.Agent, r.Turn, r.Kind, r.Tool,
			r.Decision + string(r.Stop), r.By,
		})
	}
	return c.Tables(table)
}

// last returns the last records that are wanted. Those of a database come node by node, and are put in
// the order of their times.
func (o audited) last(c *console.Console, log app.AuditRecord, project string) (out []shown, err error) {
	node, begin := "", 0 // where the records of the node begin in out
	for data, err := range log.Records() {
		if errors.Is(err, audit.ErrOtherKey) {
			c.Note(err.Error())
			break
		}
		if err != nil {
			return nil, err
		}
		r := shown{data: append(json.RawMessage(nil), data...)}
		if err := json.Unmarshal(data, &r.Record); err != nil {
			return nil, err
		}
		if r.Node != node {
			node, begin = r.Node, len(out)
		}
		if !o.wants(r.Record, project) {
			continue
		}
		if out = append(out, r); o.limit > 0 && len(out)-begin > o.limit {
			out = slices.Delete(out, begin, begin+1)
		}
	}
	if begin > 0 {
		slices.SortStableFunc(out, func(a, b shown) int { return a.Time.Compare(b.Time) })
	}
	if o.limit > 0 && len(out) > o.limit {
		out = out[len(out)-o.limit:]
	}
	return out, nil
}

func (o audited) wants(r audit.Record, project string) bool {
	return (o.all || r.Project == project) && (o.conversation == "" || r.Conversation == o.conversation) &&
		(o.turn == "" || r.Turn == o.turn) && (o.tool == "" || r.Tool == o.tool)
}
