// Package schedule runs agents at times and on events: a cron line or a kind of event, an agent
// and a prompt.
//
// Schedules lie in one SQLite file, which several processes may use. Whoever begins a run notes
// it first, under a key that names the time or the event, so a run begins once. A process that
// dies leaves a run that counts as interrupted; it does not begin again.
//
// The package starts no turns: [Options.Run] does.
package schedule

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	_ "time/tzdata" // a machine or a container may have no time zones

	"github.com/sourcegraph/conc"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// Sentinels that callers test with errors.Is.
var (
	// ErrUnknown: there is no schedule of that name.
	ErrUnknown = errors.New("there is no schedule")
	// ErrExists: there is a schedule of that name already.
	ErrExists = errors.New("there is a schedule of that name already")
)

// Task is what a run does.
type Task struct {
	Agent, Sender, Prompt string
	// Begun is called with the id of the conversation before the turn begins, and again with that
	// of the turn when it has begun.
	Begun func(conversation, turn string)
}

// Options of a Schedule; nil is all zero values.
type Options struct {
	// Project is the project of the schedules. "" is a project like any other.
	Project string
	// Run runs one turn and returns how it ended. It ends with ctx. A Schedule without it begins
	// no runs.
	Run func(ctx context.Context, t Task) (hook.StopReason, error)
	// Ready waits until the agent is registered, so that its section is known; nil does not wait.
	Ready func(ctx context.Context, agent string) error
	// Now is the clock; nil is time.Now, and for OpenIn the clock of the database. Zone is the time zone of cron lines without one; nil is
	// that of the machine.
	Now  func() time.Time
	Zone *time.Location
	// Note gets a sentence about each run that was missed or failed. Nil drops them.
	Note func(text string)
	// Mask masks what must not be in the file; nil masks nothing. A schedule whose prompt would have
	// to be masked is refused, because it would run without it.
	Mask func(text string) string
}

// Defaults and bounds.
const (
	// DefaultTime is how long a run may take.
	DefaultTime = time.Hour
	// DefaultPerHour is how often schedules may run one agent within an hour.
	DefaultPerHour = 60

	tickTime  = time.Second      // how often the file is looked at
	inTime    = time.Minute      // a run that begins later was missed
	holdTime  = time.Minute      // how long a run counts as running when its process is silent
	slots     = 8                // turns at the same time
	maxEvents = 256              // events that wait
	closeTime = 10 * time.Second // how long OnClose notes how runs ended
)

// Section is an agent's configuration: the section "schedule".
type Section struct {
	// PerHour is how often schedules may run the agent within an hour, 60 at most; further runs
	// are skipped. 0 is DefaultPerHour, negative none.
	PerHour int `json:"per_hour"`
	// Minutes is how long one run may take, 1,440 at most; 0 is an hour.
	Minutes int `json:"minutes"`
}

// limit is how long one run may take.
func (s Section) limit() time.Duration {
	if s.Minutes == 0 {
		return DefaultTime
	}
	return time.Duration(s.Minutes) * time.Minute
}

// registered is the section of an agent, and whose it is: an update registers the new configuration before it
// unregisters the old one.
type registered struct {
	Section
	cfg *hook.AgentConfig
}

// liveRun names a run in the file.
type liveRun struct {
	schedule int64
	key      string
}

// Schedule is the subsystem. Open makes one; it is safe for concurrent use.
//
//hook:subsystem
type Schedule struct {
	hook.Nop
	o     Options
	table *table

	mu sync.Mutex
	// agents has the sections of the registered agents.
	agents map[string]registered
	// waiting are the schedules that wait for events. Events of the conversations in own begin nothing.
	waiting []row
	own     map[string]bool
	// live are the runs of this process, with their conversations as far as they are known.
	live map[liveRun]string
	// looked is when the file was last looked at; zero before the first time.
	looked time.Time
	// lost counts events that found no place in events.
	lost int

	events chan arrival
	// turns has an entry for each running turn, slots at most.
	turns chan struct{}
	// stop ends the goroutine in ticking, which looks at the file.
	stop    context.CancelFunc
	ticking conc.WaitGroup
	// endRuns cancels the running turns.
	endRuns context.CancelFunc
	running conc.WaitGroup
}

var _ hook.OnClose = (*Schedule)(nil)

// Open opens the file, or makes it. Start begins to run what is due. OnClose closes the file.
func Open(ctx context.Context, path string, o *Options) (*Schedule, error) {
	s := newSchedule(o)
	file, err := openFile(ctx, path, s.o.Note)
	if err != nil {
		return nil, err
	}
	s.use(file.SQL(), file.Close)
	return s, nil
}

// OpenIn returns the schedules of a PostgreSQL database, which has their tables. Processes on several
// machines may use it: whichever looks first begins a run. OnClose leaves the database open.
func OpenIn(db sqldb.DB, o *Options) *Schedule {
	s := newSchedule(o)
	s.use(db, func() error { return nil })
	return s
}

func newSchedule(o *Options) *Schedule {
	s := &Schedule{agents: map[string]registered{}, own: map[string]bool{}, live: map[liveRun]string{}, events: make(chan arrival, maxEvents), turns: make(chan struct{}, slots)}
	if o != nil {
		s.o = *o
	}
	if s.o.Zone == nil {
		s.o.Zone = time.Local
	}
	if s.o.Mask == nil {
		s.o.Mask = func(text string) string { return text }
	}
	if s.o.Note == nil {
		s.o.Note = func(string) {}
	}
	return s
}

func (s *Schedule) use(db sqldb.DB, closeDB func() error) {
	s.table = &table{db, s.o.Project, closeDB}
}

// now returns the time of the clock that all processes with this database use.
func (s *Schedule) now(ctx context.Context) (time.Time, error) {
	if s.o.Now != nil {
		return s.o.Now(), nil
	}
	return s.table.db.Now(ctx)
}

// Check returns the entry with its defaults, or what is wrong with it.
func (s *Schedule) Check(e Entry) (Entry, error) {
	now := time.Now // near enough: a cron line is due within years, or never
	if s.o.Now != nil {
		now = s.o.Now
	}
	e, _, err := e.checked(now(), s.o.Zone)
	return e, err
}

// Add adds a schedule and returns it with its defaults. The error says what is wrong; ErrExists.
func (s *Schedule) Add(ctx context.Context, e Entry) (Scheduled, error) {
	now, err := s.now(ctx)
	if err != nil {
		return Scheduled{}, err
	}
	e, due, err := e.checked(now, s.o.Zone)
	if err == nil && s.o.Mask(e.Prompt) != e.Prompt {
		err = errors.New("the prompt has a secret, which the file must not keep: write where the agent finds it")
	}
	if err == nil {
		err = s.table.add(ctx, e, now, due)
	}
	return Scheduled{Entry: e, Created: now, Next: due}, err
}

// List returns the schedules of the project, by name.
func (s *Schedule) List(ctx context.Context) ([]Scheduled, error) { return s.table.list(ctx) }

// Runs returns the newest runs of a schedule, newest first; a hundred at most, but all of the last hour.
func (s *Schedule) Runs(ctx context.Context, name string) ([]Run, error) {
	if _, err := s.Find(ctx, name); err != nil {
		return nil, err
	}
	return s.table.runs(ctx, name)
}

// Find returns the schedule of that name; ErrUnknown.
func (s *Schedule) Find(ctx context.Context, name string) (Scheduled, error) {
	all, err := s.table.list(ctx)
	if err != nil {
		return Scheduled{}, err
	}
	for _, one := range all {
		if one.Name == name {
			return one, nil
		}
	}
	return Scheduled{}, fmt.Errorf("%w %.80q", ErrUnknown, name)
}

// Remove removes a schedule and what is known of its runs; ErrUnknown. A run that is going on
// ends as it would.
func (s *Schedule) Remove(ctx context.Context, name string) error { return s.table.remove(ctx, name) }

// RunNow runs the schedule once, as run does, and notes it. Its times stay as they are. A run
// that is nil is Options.Run; without both it returns an error.
func (s *Schedule) RunNow(ctx context.Context, name string, run func(ctx context.Context, t Task) (hook.StopReason, error)) error {
	if run == nil {
		run = s.o.Run
	}
	if run == nil {
		return errors.New("schedule: nothing says how to run a turn: set Options.Run, or give RunNow a function")
	}
	one, err := s.table.row(ctx, name)
	if err != nil {
		return err
	}
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	c := claim{row: one, key: "by hand " + now.UTC().Format(time.RFC3339Nano), prompt: one.Prompt, byHand: true}
	var begun bool
	err = s.table.write(ctx, func(tx sqldb.Tx) (err error) {
		begun, err = s.table.begin(tx, one.num, c.key, Run{Due: now, Began: now, Status: Running}, now.Add(holdTime))
		return err
	})
	if err != nil {
		return err
	}
	if !begun {
		return fmt.Errorf("%w %.80q", ErrUnknown, name)
	}
	_, err = s.runClaimed(ctx, c, run)
	return err
}

// OnBuildAgent checks the section "schedule".
func (s *Schedule) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	_, err := sectionOf(&cfg)
	return cfg, err
}

func sectionOf(cfg *hook.AgentConfig) (Section, error) {
	s, _, err := hook.SectionOf[Section](cfg, "schedule")
	switch {
	case err != nil:
		return s, err
	case s.PerHour > DefaultPerHour:
		return s, fmt.Errorf("agent %q: section schedule: per_hour is %d, and %d is the most", cfg.Name, s.PerHour, DefaultPerHour)
	case s.Minutes < 0 || s.Minutes > 24*60:
		return s, fmt.Errorf("agent %q: section schedule: minutes is %d; write 1 to 1440, or leave it out for an hour", cfg.Name, s.Minutes)
	case s.PerHour == 0:
		s.PerHour = DefaultPerHour
	}
	return s, nil
}

// OnRegisterAgent keeps the agent's section.
func (s *Schedule) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	section, err := sectionOf(cfg)
	if err == nil {
		s.mu.Lock()
		s.agents[cfg.Name] = registered{section, cfg}
		s.mu.Unlock()
	}
	return err
}

// OnUnregisterAgent forgets it.
func (s *Schedule) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	s.mu.Lock()
	if s.agents[cfg.Name].cfg == cfg {
		delete(s.agents, cfg.Name)
	}
	s.mu.Unlock()
}

// section returns the agent's section; the defaults if it is not registered, because the program
// may register it for the run.
func (s *Schedule) section(agent string) Section {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of, ok := s.agents[agent]; ok {
		return of.Section
	}
	return Section{PerHour: DefaultPerHour}
}

// OnClose cancels the runs, notes how they ended, and closes the file of Open.
func (s *Schedule) OnClose(ctx context.Context) error {
	s.Stop()
	if s.endRuns != nil {
		s.endRuns()
	}
	s.running.Wait()
	return s.table.close()
}
