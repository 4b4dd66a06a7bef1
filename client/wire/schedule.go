package wire

import "time"

// Schedules are the answer of GET /v1/schedules, by name.
type Schedules struct {
	Schedules []Schedule `json:"schedules"`
}

// Schedule gives an agent a prompt at times, or when something happens.
type Schedule struct {
	Name  string `json:"name"`
	Agent string `json:"agent"`
	// Sender is whose conversation with the agent it runs in.
	Sender string `json:"sender"`
	Prompt string `json:"prompt"`
	// When is a cron line, with the time zone if it has one, or the event that it waits for.
	When string `json:"when"`
	// Late says what happens when no daemon ran in time: report, or also run once.
	Late    string    `json:"late"`
	Created time.Time `json:"created"`
	// Next is when it runs next; zero if it waits for events.
	Next time.Time `json:"next,omitzero"`
	// Missed counts the runs that no daemon began in time, the last of them at MissedLast.
	Missed     int       `json:"missed,omitzero"`
	MissedLast time.Time `json:"missed_last,omitzero"`
	// Last is the newest run; nil if there was none.
	Last *ScheduleRun `json:"last,omitempty"`
	// Runs are its runs, the newest first; a list leaves them out.
	Runs []ScheduleRun `json:"runs,omitempty"`
}

// ScheduleRun is one run of a schedule.
type ScheduleRun struct {
	// Due is when it was due, or when the event came.
	Due   time.Time `json:"due"`
	Began time.Time `json:"began,omitzero"`
	Ended time.Time `json:"ended,omitzero"`
	// Conversation and Turn are ids; "" if the run did not get that far.
	Conversation string `json:"conversation,omitzero"`
	Turn         string `json:"turn,omitzero"`
	// Status is running, completed, failed, interrupted or skipped, and Note says why.
	Status string `json:"status"`
	Note   string `json:"note,omitzero"`
}
