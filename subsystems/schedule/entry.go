package schedule

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/character"
)

// Late says what happens to a run that was not begun in time, because no daemon ran.
type Late string

// What happens to late runs.
const (
	// LateReport counts them and tells of them. It is the default.
	LateReport Late = "report"
	// LateRun also runs the agent once, however many were missed.
	LateRun Late = "run"
)

// Bounds of schedules.
const (
	// MaxEntries is how many schedules a project can have.
	MaxEntries = 1000
	// MaxPrompt is the longest prompt, in bytes.
	MaxPrompt = 64 << 10
	// keptRuns is how many runs of a schedule are kept.
	keptRuns = 100
)

// Entry is one schedule: when which agent gets which prompt. Exactly one of Cron and On is set.
type Entry struct {
	// Name is unique in the project: ^[a-z0-9][a-z0-9_-]{0,63}$.
	Name string `json:"name"`
	// Agent gets Prompt in its conversation with Sender; "" is a conversation of the schedule's own.
	Agent  string `json:"agent"`
	Sender string `json:"sender"`
	Prompt string `json:"prompt"`
	// Cron is a cron line of five fields, or @daily and its relatives, in the time zone Zone; ""
	// is that of the machine.
	Cron string `json:"cron,omitzero"`
	Zone string `json:"zone,omitzero"`
	// On selects the events that run the agent.
	On On `json:"on,omitzero"`
	// Late is "" for LateReport.
	Late Late `json:"late"`
}

var names = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// checked returns the entry with its defaults, and when it is due first after now.
func (e Entry) checked(now time.Time, local *time.Location) (Entry, time.Time, error) {
	if e.Late == "" {
		e.Late = LateReport
	}
	if e.Sender == "" {
		e.Sender = "schedule:" + e.Name
	}
	var due time.Time
	switch odd := character.Odd(e.Sender); {
	case !names.MatchString(e.Name):
		return e, due, fmt.Errorf("a schedule cannot have the name %.80q; use up to 64 of a-z, 0-9, - and _", e.Name)
	case !message.ValidToolName(e.Agent):
		return e, due, fmt.Errorf("no agent has the name %.80q", e.Agent)
	case odd != "" || len(e.Sender) > 256 || strings.TrimSpace(e.Sender) != e.Sender:
		return e, due, fmt.Errorf("the sender %.80q has more than 256 bytes, a blank at an end, or a character that cannot be seen", e.Sender)
	case strings.TrimSpace(e.Prompt) == "":
		return e, due, errors.New("there is no prompt; say what the agent is to do")
	case len(e.Prompt) > MaxPrompt || !utf8.ValidString(e.Prompt):
		return e, due, fmt.Errorf("the prompt has %d bytes; %d bytes of UTF-8 are the most: let the agent read a file", len(e.Prompt), MaxPrompt)
	case e.Late != LateReport && e.Late != LateRun:
		return e, due, fmt.Errorf("%.40q says nothing about missed runs; write report or run", e.Late)
	case (e.Cron == "") == (e.On == On{}):
		return e, due, errors.New(`say when: a cron line such as "0 7 * * 1-5", or an event`)
	case e.Cron == "" && (e.Zone != "" || e.Late == LateRun):
		return e, due, errors.New("a schedule that waits for events has no time zone and misses no time")
	}
	if e.Cron == "" {
		return e, due, e.On.check()
	}
	t, err := parse(e.Cron, e.Zone, local)
	if err != nil {
		return e, due, err
	}
	if due = t.next(now); due.IsZero() {
		return e, due, fmt.Errorf("the cron line %.80q is never due", e.Cron)
	}
	return e, due, nil
}

// Status is how a run ended, or that it has not.
type Status string

// The statuses of a run.
const (
	Running     Status = "running"
	Completed   Status = "completed"   // the turn ended by itself
	Failed      Status = "failed"      // the turn failed, or did not begin
	Interrupted Status = "interrupted" // the process ended first; a daemon resumes the turn if it had begun
	Skipped     Status = "skipped"     // the run before it had not ended, or the agent has run too often
)

// Run is one run of a schedule.
type Run struct {
	// Due is when it was due, or when the event came.
	Due   time.Time `json:"due"`
	Began time.Time `json:"began,omitzero"`
	Ended time.Time `json:"ended,omitzero"`
	// Conversation and Turn are ids; "" if the run did not get that far.
	Conversation string `json:"conversation,omitzero"`
	Turn         string `json:"turn,omitzero"`
	Status       Status `json:"status"`
	// Note says why, for people.
	Note string `json:"note,omitzero"`
}

// Scheduled is a schedule with what has become of it.
type Scheduled struct {
	Entry
	Created time.Time `json:"created"`
	// Next is when it runs next; zero if it waits for events.
	Next time.Time `json:"next,omitzero"`
	// Missed counts the runs that no daemon began in time, the last of them at MissedLast.
	Missed     int       `json:"missed,omitzero"`
	MissedLast time.Time `json:"missed_last,omitzero"`
	// Last is the newest run; nil if there was none.
	Last *Run `json:"last,omitzero"`
}

// When returns when it runs, for people.
func (e Entry) When() string {
	switch {
	case e.Cron == "":
		return "on " + e.On.String()
	case e.Zone != "":
		return e.Cron + " " + e.Zone
	}
	return e.Cron
}
