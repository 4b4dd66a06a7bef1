package schedule

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sourcegraph/conc"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/character"
	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// claim is a run that this process has begun.
type claim struct {
	row
	key    string
	prompt string
	// byHand: a person wants it, whatever the agent's section says of schedules.
	byHand bool
}

func (c *claim) run() liveRun { return liveRun{c.num, c.key} }

// arrival is an event that a schedule waits for.
type arrival struct {
	row
	key, about string
}

func isNone(err error) bool { return errors.Is(err, sqldb.ErrNoRows) }

// Start begins to run what is due, and what events ask for. Call it once, when the agents are
// registered.
func (s *Schedule) Start() {
	if s.o.Run == nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	runs, endRuns := context.WithCancel(context.Background())
	s.stop, s.endRuns = stop, endRuns
	s.ticking.Go(func() {
		next := time.NewTicker(tickTime)
		defer next.Stop()
		for {
			s.look(ctx, runs)
			select {
			case <-ctx.Done():
				return
			case a := <-s.events:
				s.noteLost()
				if err := s.arrived(ctx, runs, a); err != nil && ctx.Err() == nil {
					s.o.Note(fmt.Sprintf("schedule %s: an event is not answered: %v", a.Name, err))
				}
			case <-next.C:
			}
		}
	})
}

// Stop begins no further runs. Those that are going on are not cancelled. A program calls it before
// it closes the runtime.
func (s *Schedule) Stop() {
	if s.stop != nil {
		s.stop()
		s.ticking.Wait()
	}
}

// look reads what other processes have changed, and begins what is due.
func (s *Schedule) look(ctx, runs context.Context) {
	err := s.refresh(ctx)
	if err == nil {
		err = s.tick(ctx, runs)
	}
	if err != nil && ctx.Err() == nil {
		s.o.Note(fmt.Sprintf("the schedules cannot be read: %v", err))
	}
}

func (s *Schedule) refresh(ctx context.Context) error {
	waiting, own, err := s.table.waiting(ctx)
	if err == nil {
		s.mu.Lock()
		s.waiting = waiting
		for _, conversation := range s.live {
			own[conversation] = true // the file may not have it yet
		}
		s.own = own
		s.mu.Unlock()
	}
	return err
}

// tick begins the runs that are due. Whichever process has the write lock first begins them.
func (s *Schedule) tick(ctx, runs context.Context) error {
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	back := s.looked.IsZero() || now.Before(s.looked)
	s.looked = now
	if urgent, err := s.table.urgent(ctx, now); err != nil || !urgent && !back {
		return err
	}
	var claims []claim
	var notes []string
	err = s.table.write(ctx, func(tx sqldb.Tx) error {
		claims, notes = nil, nil
		if back { // at the start, and after the clock was ahead
			if err := s.repair(tx, now); err != nil {
				return err
			}
		}
		if err := s.keepLive(tx, now); err != nil {
			return err
		}
		if err := s.table.interrupt(tx, now); err != nil {
			return err
		}
		for last := int64(0); ; {
			r, err := scanRow(tx.One(`SELECT `+entryColumns+` FROM schedule s
				WHERE project = $1 AND due > 0 AND due <= $2 AND num > $3 ORDER BY num LIMIT 1`, s.o.Project, now.UnixNano(), last))
			if isNone(err) {
				return nil
			}
			if err != nil {
				return err
			}
			last = r.num
			c, note, err := s.claimDue(tx, r, now)
			if err != nil {
				return err
			}
			if c != nil {
				claims = append(claims, *c)
			}
			if note != "" {
				notes = append(notes, note)
			}
		}
	})
	if err != nil {
		return err
	}
	for _, note := range notes {
		s.o.Note(note)
	}
	for _, c := range claims {
		s.spawn(runs, c)
	}
	return nil
}

// repair lets no schedule be due later than its line says: it may have been moved while the clock was ahead.
func (s *Schedule) repair(tx sqldb.Tx, now time.Time) error {
	for last := int64(0); ; {
		var created int64
		r, err := scanRow(tx.One(`SELECT `+entryColumns+`, s.created FROM schedule s
			WHERE project = $1 AND due > $2 AND num > $3 ORDER BY num LIMIT 1`, s.o.Project, now.UnixNano(), last), &created)
		if isNone(err) {
			return nil
		}
		if err != nil {
			return err
		}
		last = r.num
		t, err := parse(r.Cron, r.Zone, s.o.Zone)
		if err != nil {
			continue // it is told of when it is due
		}
		if next := t.lately(now, timeOf(created)); !next.IsZero() && next.Before(r.due) { // a run of before has its key
			if _, err := tx.Exec(`UPDATE schedule SET due = $3 WHERE num = $1 AND project = $2`, r.num, s.o.Project, nanos(next)); err != nil {
				return err
			}
		}
	}
}

// keepLive says that the runs of this process live: while the machine slept, nothing has.
func (s *Schedule) keepLive(tx sqldb.Tx, now time.Time) error {
	s.mu.Lock()
	live := slices.Collect(maps.Keys(s.live))
	s.mu.Unlock()
	for _, run := range live {
		if _, err := s.table.holdIn(tx, run, now.Add(holdTime)); err != nil {
			return err
		}
	}
	return nil
}

// mostMissed is how many missed runs are counted at once.
const mostMissed = 10_000

// claimDue moves the schedule to its next time, and notes a run if one is to begin now.
func (s *Schedule) claimDue(tx sqldb.Tx, r row, now time.Time) (*claim, string, error) {
	t, err := parse(r.Cron, r.Zone, s.o.Zone)
	if err != nil { // by another program, or with other time zones; the others go on
		_, failed := tx.Exec(`UPDATE schedule SET due = 0 WHERE num = $1 AND project = $2`, r.num, s.o.Project)
		return nil, fmt.Sprintf("schedule %s runs no more: %v; remove it, and add it again", r.Name, err), failed
	}
	last, missed, next := r.due, 0, t.next(r.due)
	for ; !next.IsZero() && !next.After(now); next = t.next(next) {
		if last, missed = next, missed+1; missed == mostMissed {
			next = t.next(now)
			break
		}
	}
	missedLast := r.due
	late := now.Sub(last) > inTime
	if late {
		missed, missedLast = missed+1, last
	}
	if _, err := tx.Exec(`UPDATE schedule SET due = $3, missed = missed + $4, missed_last = CASE WHEN $5 > 0 THEN $6 ELSE missed_last END WHERE num = $1 AND project = $2`,
		r.num, s.o.Project, nanos(next), missed, missed, missedLast.UnixNano()); err != nil {
		return nil, "", err
	}
	note := ""
	if missed > 0 {
		note = fmt.Sprintf("schedule %s: %d runs were missed because no daemon ran, the last at %s", r.Name, missed, missedLast.In(s.o.Zone).Format(time.DateTime))
	}
	if late && r.Late != LateRun {
		return nil, note, nil
	}
	c, skipped, err := s.claimRun(tx, r, "due "+last.UTC().Format(time.RFC3339), last, now)
	if skipped != "" {
		note = skipped
	}
	return c, note, err
}

// claimRun notes a run of that key, unless there is one. It notes it as skipped if one before it
// is still going on, or the agent has run too often.
func (s *Schedule) claimRun(tx sqldb.Tx, r row, key string, due, now time.Time) (*claim, string, error) {
	section := s.section(r.Agent)
	var busy bool
	var often int
	err := tx.One(`SELECT EXISTS (SELECT 1 FROM run WHERE schedule = $1 AND`+ofProject+` AND held > 0),
			(SELECT count(*) FROM run r JOIN schedule s ON s.num = r.schedule
			WHERE s.project = $2 AND s.agent = $3 AND r.began BETWEEN $4 AND $5 AND r.status <> 'skipped')`,
		r.num, s.o.Project, r.Agent, now.Add(-time.Hour).UnixNano()+1, now.UnixNano()).Scan(&busy, &often)
	if err != nil {
		return nil, "", err
	}
	run, held, why := Run{Due: due, Began: now, Status: Running}, now.Add(holdTime), ""
	switch {
	case busy:
		why = "the run before it had not ended"
	case often >= max(section.PerHour, 0):
		why = fmt.Sprintf("schedules had run the agent %s %d times within an hour", r.Agent, often)
	}
	if why != "" {
		if again, err := s.table.skippedAgain(tx, r.num, why, now); err != nil || again {
			return nil, "", err
		}
		run.Status, run.Ended, run.Note, held = Skipped, now, why, time.Time{}
	}
	begun, err := s.table.begin(tx, r.num, key, run, held)
	switch {
	case err != nil || !begun:
		return nil, "", err
	case why != "":
		return nil, fmt.Sprintf("schedule %s: a run was skipped: %s", r.Name, why), nil
	}
	return &claim{row: r, key: key, prompt: r.Prompt}, "", nil
}

// spawn runs the claim in the background.
func (s *Schedule) spawn(ctx context.Context, c claim) {
	s.running.Go(func() {
		status, err := s.runClaimed(ctx, c, s.o.Run)
		if err != nil {
			s.o.Note(fmt.Sprintf("schedule %s: the run failed: %v", c.Name, err))
		} else if status != Completed {
			s.o.Note(fmt.Sprintf("schedule %s: the run was not completed, but %s", c.Name, status))
		}
	})
}

// runClaimed runs a claim and notes how it ended. While it runs it says so in the file.
func (s *Schedule) runClaimed(ctx context.Context, c claim, run func(context.Context, Task) (hook.StopReason, error)) (Status, error) {
	lasting := context.WithoutCancel(ctx)
	s.mu.Lock()
	s.live[c.run()] = ""
	s.mu.Unlock()
	done := make(chan struct{})
	var beat conc.WaitGroup
	beat.Go(func() { s.beat(ctx, c, done) })
	stop, err := s.inSlot(ctx, c, run)
	close(done)
	beat.Wait()
	s.mu.Lock()
	delete(s.live, c.run()) // before the run ends: what lives is taken back
	s.mu.Unlock()

	status, note := Completed, ""
	switch {
	case errors.Is(err, errNever):
		status, note, err = Skipped, err.Error(), nil
	case err != nil && ctx.Err() != nil:
		status, note = Interrupted, "the daemon was ended"
	case err != nil:
		status, note = Failed, shorten(err.Error())
	case stop == hook.StopCancelled && ctx.Err() != nil:
		status, note = Interrupted, "the daemon was ended"
	case stop == hook.StopCancelled, stop == hook.StopUserRequested:
		status, note = Interrupted, "the turn was cancelled"
	case stop != hook.StopCompleted && stop != hook.StopFinishReason:
		status, note = Failed, "the turn ended with "+string(stop)
	}
	ending, release := context.WithTimeout(lasting, closeTime)
	defer release()
	now, failed := s.now(ending)
	if failed == nil {
		failed = s.table.end(ending, c.num, c.key, status, s.o.Mask(note), now)
	}
	return status, errors.Join(err, failed)
}

// errNever: the agent's section says that schedules never run it.
var errNever = errors.New("the agent's file says that schedules never run it")

// inSlot runs the turn once fewer than slots runs are going on and the agent is registered. From there on its time counts.
func (s *Schedule) inSlot(ctx context.Context, c claim, run func(context.Context, Task) (hook.StopReason, error)) (stop hook.StopReason, err error) {
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if s.o.Ready != nil && !c.byHand {
		if err := s.o.Ready(ctx, c.Agent); err != nil {
			return "", err
		}
	}
	section := s.section(c.Agent)
	if section.PerHour < 0 && !c.byHand {
		return "", errNever
	}
	ctx, cancel := context.WithTimeoutCause(ctx, section.limit(), fmt.Errorf("the run took longer than %v", section.limit()))
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the run panicked: %v", v)
		} else if errors.Is(ctx.Err(), context.DeadlineExceeded) && (err != nil || stop == hook.StopCancelled) {
			err = context.Cause(ctx)
		}
	}()
	begun := func(conversation, turn string) {
		s.mu.Lock()
		s.own[conversation] = true // before the turn's first event
		s.live[c.run()] = conversation
		s.mu.Unlock()
		if err := s.table.place(ctx, c.num, c.key, conversation, turn); err != nil && ctx.Err() == nil {
			s.o.Note(fmt.Sprintf("schedule %s: the conversation of the run is not noted: %v", c.Name, err))
		}
	}
	return run(ctx, Task{Agent: c.Agent, Sender: c.Sender, Prompt: c.prompt, Begun: begun})
}

// beat says that this process lives until the run is done.
func (s *Schedule) beat(ctx context.Context, c claim, done <-chan struct{}) {
	next := time.NewTicker(holdTime / 3)
	defer next.Stop()
	for {
		select {
		case <-done:
			return
		case <-next.C:
		}
		lasting := context.WithoutCancel(ctx)
		now, err := s.now(lasting)
		if err == nil {
			_, err = s.table.hold(lasting, c.num, c.key, now.Add(holdTime))
		}
		if err != nil {
			s.o.Note(fmt.Sprintf("schedule %s: %v", c.Name, err))
		}
	}
}

// maxNote is how much of an error is kept, in characters.
const maxNote = 300

func shorten(text string) string {
	text, _ = character.Cut(text, maxNote)
	return text
}
