package schedule

import (
	"context"
	_ "embed" // the schema
	"encoding/json"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/internal/sqldb"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
)

//go:embed schema/1.sql
var schema1 string

// fileID marks the files: "GRAs".
const fileID = 0x47524173

// table is the SQL, for both databases. Several processes may use one database at the same time.
type table struct {
	db      sqldb.DB
	project string
	// close closes what Open has opened.
	close func() error
}

func openFile(ctx context.Context, path string, note func(string)) (*sqlitedb.DB, error) {
	return sqlitedb.Open(ctx, path, sqlitedb.Schema{Name: "schedule file", ID: fileID, Steps: []string{schema1, ""}, Secure: true, Vacuum: 2, Note: note})
}

// ofProject is true if the project $2 has the schedule $1. Runs have their project by their schedule.
const ofProject = ` EXISTS (SELECT 1 FROM schedule WHERE num = $1 AND project = $2)`

// write changes the schedules of the project, one process at a time.
func (t *table) write(ctx context.Context, f func(tx sqldb.Tx) error) error {
	return t.db.Write(ctx, func(tx sqldb.Tx) error {
		if err := tx.Lock("schedules of " + t.project); err != nil {
			return err
		}
		return f(tx)
	})
}

// row is a schedule as a tick sees it.
type row struct {
	num int64
	Entry
	due time.Time
}

const entryColumns = `s.num, s.name, s.agent, s.sender, s.prompt, s.cron, s.zone, s.event, s.late, s.due`

// scanRow reads the entryColumns, and more behind them.
func scanRow(from sqldb.Row, more ...any) (row, error) {
	var r row
	var on string
	var due int64
	err := from.Scan(append([]any{&r.num, &r.Name, &r.Agent, &r.Sender, &r.Prompt, &r.Cron, &r.Zone, &on, &r.Late, &due}, more...)...)
	if err == nil && on != "" {
		err = json.Unmarshal([]byte(on), &r.On)
	}
	r.due = timeOf(due)
	return r, err
}

// timeOf returns the time of the nanoseconds; 0 is the zero time.
func timeOf(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos)
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func (t *table) add(ctx context.Context, e Entry, now, due time.Time) error {
	on := ""
	if e.Cron == "" {
		var err error
		if on, err = e.On.encode(); err != nil {
			return err
		}
	}
	return t.write(ctx, func(tx sqldb.Tx) error {
		var all, same int
		if err := tx.One(`SELECT count(*), count(CASE WHEN name = $1 THEN 1 END) FROM schedule WHERE project = $2`, e.Name, t.project).Scan(&all, &same); err != nil {
			return err
		}
		switch {
		case same > 0:
			return fmt.Errorf("%w: %q; remove it first, or choose another name", ErrExists, e.Name)
		case all >= MaxEntries:
			return fmt.Errorf("the project has %d schedules, and can have no more; remove some", all)
		}
		_, err := tx.Exec(`INSERT INTO schedule (project, name, agent, sender, prompt, cron, zone, event, late, created, due)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`, t.project, e.Name, e.Agent, e.Sender, e.Prompt, e.Cron, e.Zone, on, string(e.Late), now.UnixNano(), nanos(due))
		return err
	})
}

// remove removes the schedule and its runs.
func (t *table) remove(ctx context.Context, name string) error {
	return t.write(ctx, func(tx sqldb.Tx) error {
		if _, err := tx.Exec(`DELETE FROM run WHERE schedule IN (SELECT num FROM schedule WHERE project = $1 AND name = $2)`, t.project, name); err != nil {
			return err
		}
		n, err := tx.Exec(`DELETE FROM schedule WHERE project = $1 AND name = $2`, t.project, name)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w %.80q", ErrUnknown, name)
		}
		return err
	})
}

// list returns the schedules of the project, by name.
func (t *table) list(ctx context.Context) (out []Scheduled, err error) {
	err = t.db.Read(ctx, func(r sqldb.Reader) error {
		out = nil
		return r.Each(func(row sqldb.Row) error {
			var s Scheduled
			var last Run
			var created, missedLast, due, began, ended int64
			r, err := scanRow(row, &created, &s.Missed, &missedLast, &due, &began, &ended, &last.Status, &last.Conversation, &last.Turn, &last.Note)
			if err != nil {
				return err
			}
			s.Entry, s.Next, s.Created, s.MissedLast = r.Entry, r.due, timeOf(created), timeOf(missedLast)
			if last.Status != "" {
				last.Due, last.Began, last.Ended = timeOf(due), timeOf(began), timeOf(ended)
				s.Last = &last
			}
			out = append(out, s)
			return nil
		}, `SELECT `+entryColumns+`, s.created, s.missed, s.missed_last,
			coalesce(r.due, 0), coalesce(r.began, 0), coalesce(r.ended, 0), coalesce(r.status, ''), coalesce(r.conversation, ''), coalesce(r.turn, ''), coalesce(r.note, '')
		FROM schedule s LEFT JOIN run r ON r.schedule = s.num AND r.key = (SELECT key FROM run WHERE schedule = s.num ORDER BY began DESC, key DESC LIMIT 1)
		WHERE s.project = $1 ORDER BY s.name`, t.project)
	})
	return out, err
}

// runs returns the newest runs of the schedule, newest first.
func (t *table) runs(ctx context.Context, name string) (out []Run, err error) {
	err = t.db.Read(ctx, func(r sqldb.Reader) error {
		out = nil
		return r.Each(func(row sqldb.Row) error {
			var r Run
			var due, began, ended int64
			err := row.Scan(&due, &began, &ended, &r.Status, &r.Conversation, &r.Turn, &r.Note)
			r.Due, r.Began, r.Ended = timeOf(due), timeOf(began), timeOf(ended)
			out = append(out, r)
			return err
		}, `SELECT r.due, r.began, r.ended, r.status, r.conversation, r.turn, r.note FROM run r JOIN schedule s ON s.num = r.schedule
		WHERE s.project = $1 AND s.name = $2 ORDER BY r.began DESC, r.key DESC`, t.project, name)
	})
	return out, err
}

// row returns the schedule of that name; ErrUnknown.
func (t *table) row(ctx context.Context, name string) (out row, err error) {
	err = t.db.Read(ctx, func(r sqldb.Reader) error {
		out, err = scanRow(r.One(`SELECT `+entryColumns+` FROM schedule s WHERE project = $1 AND name = $2`, t.project, name))
		return err
	})
	if isNone(err) {
		err = fmt.Errorf("%w %.80q", ErrUnknown, name)
	}
	return out, err
}

// waiting returns the schedules that wait for events, and the conversations of all runs.
func (t *table) waiting(ctx context.Context) (out []row, own map[string]bool, err error) {
	err = t.db.Read(ctx, func(r sqldb.Reader) error {
		out, own = nil, map[string]bool{}
		return r.Each(func(row sqldb.Row) error {
			var conversation string
			r, err := scanRow(row, &conversation)
			if err == nil && r.Cron == "" {
				out = append(out, r)
			}
			if conversation != "" {
				own[conversation] = true
			}
			return err
		}, `SELECT `+entryColumns+`, s.conversation FROM schedule s WHERE s.project = $1 ORDER BY s.name`, t.project)
	})
	return out, own, err
}

// urgent reports whether a schedule is due, or a run has lost its process.
func (t *table) urgent(ctx context.Context, now time.Time) (yes bool, err error) {
	err = t.db.Read(ctx, func(r sqldb.Reader) error {
		return r.One(`SELECT EXISTS (SELECT 1 FROM schedule WHERE project = $1 AND due > 0 AND due <= $2)
			OR EXISTS (SELECT 1 FROM run WHERE held > 0 AND (held <= $2 OR held > $3) AND schedule IN (SELECT num FROM schedule WHERE project = $1))`, t.project, now.UnixNano(), now.Add(2*holdTime).UnixNano()).Scan(&yes)
	})
	return yes, err
}

// begin notes a run, unless there is one of that key. It prunes old ones.
func (t *table) begin(tx sqldb.Tx, num int64, key string, r Run, held time.Time) (begun bool, err error) {
	n, err := tx.Exec(`INSERT INTO run (schedule, key, due, began, ended, held, status, conversation, turn, note)
		SELECT $1, $3, $4, $5, $6, $7, $8, '', '', $9 WHERE`+ofProject+` ON CONFLICT DO NOTHING`,
		num, t.project, key, nanos(r.Due), nanos(r.Began), nanos(r.Ended), nanos(held), string(r.Status), r.Note)
	if err != nil || n == 0 {
		return false, err
	}
	_, err = tx.Exec(`DELETE FROM run WHERE schedule = $1 AND`+ofProject+` AND held = 0 AND began < $3 AND began <
		(SELECT began FROM run WHERE schedule = $1 ORDER BY began DESC LIMIT 1 OFFSET $4)`, num, t.project, r.Began.Add(-time.Hour).UnixNano(), keptRuns-1)
	return err == nil, err
}

// skippedAgain makes the newest run last until now if it was skipped for the same reason: events may come by the
// thousand while a run goes on. It returns false if it was not.
func (t *table) skippedAgain(tx sqldb.Tx, num int64, why string, now time.Time) (bool, error) {
	n, err := tx.Exec(`UPDATE run SET ended = $3 WHERE schedule = $1 AND`+ofProject+` AND status = 'skipped' AND note = $4
		AND key = (SELECT key FROM run WHERE schedule = $1 ORDER BY began DESC, key DESC LIMIT 1)`, num, t.project, now.UnixNano(), why)
	return n > 0, err
}

// hold says that the process of the run lives; false if the run is not there any more.
func (t *table) hold(ctx context.Context, num int64, key string, until time.Time) (held bool, err error) {
	err = t.write(ctx, func(tx sqldb.Tx) error {
		held, err = t.holdIn(tx, liveRun{num, key}, until)
		return err
	})
	return held, err
}

// holdIn takes back a run that counted as interrupted, because its process slept.
func (t *table) holdIn(tx sqldb.Tx, run liveRun, until time.Time) (held bool, err error) {
	n, err := tx.Exec(`UPDATE run SET held = $3, status = $4, ended = 0, note = '' WHERE schedule = $1 AND`+ofProject+` AND key = $5 AND (held > 0 OR status = $6)`,
		run.schedule, t.project, until.UnixNano(), string(Running), run.key, string(Interrupted))
	return n > 0, err
}

// place notes the conversation of a run, and its turn once it has begun.
func (t *table) place(ctx context.Context, num int64, key, conversation, turn string) error {
	return t.write(ctx, func(tx sqldb.Tx) error {
		if _, err := tx.Exec(`UPDATE schedule SET conversation = $3 WHERE num = $1 AND project = $2`, num, t.project, conversation); err != nil {
			return err
		}
		_, err := tx.Exec(`UPDATE run SET conversation = $3, turn = $4 WHERE schedule = $1 AND`+ofProject+` AND key = $5`, num, t.project, conversation, turn, key)
		return err
	})
}

// end notes how a run ended, unless it counts as interrupted by now.
func (t *table) end(ctx context.Context, num int64, key string, s Status, note string, now time.Time) error {
	return t.write(ctx, func(tx sqldb.Tx) error {
		_, err := tx.Exec(`UPDATE run SET status = $3, note = $4, ended = $5, held = 0 WHERE schedule = $1 AND`+ofProject+` AND key = $6 AND held > 0`,
			num, t.project, string(s), note, now.UnixNano(), key)
		return err
	})
}

// interrupt ends the project's runs whose processes have died, some of them while the clock was ahead.
func (t *table) interrupt(tx sqldb.Tx, now time.Time) error {
	_, err := tx.Exec(`UPDATE run SET status = $1, ended = CASE WHEN held < $2 THEN held ELSE $2 END, held = 0, note = CASE turn WHEN '' THEN 'the daemon ended before the turn had begun'
		ELSE 'the daemon ended during the turn' END WHERE held > 0 AND (held <= $2 OR held > $3) AND schedule IN (SELECT num FROM schedule WHERE project = $4)`,
		string(Interrupted), now.UnixNano(), now.Add(2*holdTime).UnixNano(), t.project)
	return err
}
