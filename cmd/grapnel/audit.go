package main

import (
	"encoding/json"
	"errors"
	"fmt"
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
		RunE: func(*cobra.Command, []string) error {
			paths, err := c.paths(p)
			if err != nil {
				return err
			}
			o.json = p.json
			err = showRecords(&c.Console, paths, o)
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
		RunE: func(*cobra.Command, []string) error {
			paths, err := c.paths(place{})
			if err != nil {
				return err
			}
			v, err := app.AuditLog(paths).Verify()
			if err != nil {
				return &failed{exitFailed, err}
			}
			return screen.New(c.Written).Print(screen.Format("none was changed, and none is missing; records: %d, files: %d\n", v.Records, v.Files))
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

// showRecords shows records, the oldest first. It checks them all.
func showRecords(c *console.Console, p app.Paths, o audited) error {
	var kept []json.RawMessage
	var records []audit.Record
	for data, err := range app.AuditLog(p).Records() {
		if err != nil {
			return err
		}
		var r audit.Record
		if err := json.Unmarshal(data, &r); err != nil {
			return err
		}
		if !o.wants(r, p.Project()) {
			continue
		}
		kept, records = append(kept, append(json.RawMessage(nil), data...)), append(records, r)
		if o.limit > 0 && len(kept) > o.limit {
			kept, records = kept[1:], records[1:]
		}
	}
	if o.json {
		for _, data := range kept {
			if err := c.JSON(data); err != nil {
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

func (o audited) wants(r audit.Record, project string) bool {
	return (o.all || r.Project == project) && (o.conversation == "" || r.Conversation == o.conversation) &&
		(o.turn == "" || r.Turn == o.turn) && (o.tool == "" || r.Tool == o.tool)
}
