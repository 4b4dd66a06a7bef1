package inspect

import (
	"cmp"
	"strconv"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/term/console"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Jobs shows a list of jobs.
func Jobs(c *console.Console, all []wire.Job, asJSON bool) error {
	if asJSON {
		return c.JSON(wire.Jobs{Jobs: append([]wire.Job{}, all...)})
	}
	if len(all) == 0 {
		c.Note("no job is here that fits")
		return nil
	}
	table := [][]string{{"ID", "QUEUED", "KIND", "STATUS", "TRIES", "WHY", "CONVERSATION"}}
	for _, j := range all {
		table = append(table, []string{
			strconv.FormatInt(j.ID, 10), j.Created.Local().Format(time.DateTime), j.Kind, j.Status, strconv.Itoa(j.Attempts), cmp.Or(j.Failure, "-"), cmp.Or(j.Conversation, "-"),
		})
	}
	return c.Tables(table)
}

// Job shows one job.
func Job(c *console.Console, j wire.Job, asJSON bool) error {
	if asJSON {
		return c.JSON(j)
	}
	rows := [][]string{{"JOB", strconv.FormatInt(j.ID, 10)}, {"status", j.Status}, {"kind", j.Kind}, {"key", j.Key}, {"attempts", strconv.Itoa(j.Attempts)}}
	due := ""
	if j.Status == string(store.JobQueued) || j.Status == string(store.JobRunning) {
		due = j.Due.Local().Format(time.DateTime)
	}
	for _, f := range [][2]string{
		{"why", j.Failure}, {"due", due}, {"conversation", j.Conversation}, {"turn", j.Turn}, {"process", j.Owner},
		{"queued", j.Created.Local().Format(time.DateTime)}, {"changed", j.Updated.Local().Format(time.DateTime)}, {"payload", string(j.Payload)},
	} {
		if f[1] != "" {
			rows = append(rows, []string{f[0], f[1]})
		}
	}
	return c.Whole(rows)
}
