package leasemodel

import "fmt"

// Wakes is a reader on another node that follows the events of a conversation, which the owner
// stores. Notifications may be lost, and several may become one. Its zero value has no events.
type Wakes struct {
	// Events is how many events the owner stores, Losses how many notifications may be lost.
	Events, Losses int

	// NoRead: a woken reader takes the event that the notification names, and reads nothing.
	NoRead bool
	// NoPoll: a reader that was not woken does not look now and then.
	NoPoll bool
}

// reading is a state of the model of a reader.
type reading struct {
	// stored is how many events there are, told the last of them that a notification under way
	// names; 0 is none.
	stored, told int
	// read is the sequence behind which the reader reads, gap that it has left one out.
	read   int
	gap    bool
	losses int // still allowed
}

// wake is an action of the owner, the database or the reader.
type wake uint8

const (
	storeEvent wake = iota
	loseNotification
	deliver
	poll
)

// Start has no events.
func (m Wakes) Start() reading { return reading{losses: m.Losses} }

// Next yields what owner, database and reader may do.
func (m Wakes) Next(r reading, yield func(wake, reading)) {
	if r.stored < m.Events {
		next := r
		next.stored++
		next.told = next.stored // one that is still under way becomes this one
		yield(storeEvent, next)
	}
	if r.told > 0 && r.losses > 0 {
		next := r
		next.told = 0
		next.losses--
		yield(loseNotification, next)
	}
	if r.told > 0 {
		next := r.look()
		if m.NoRead {
			next = r
			next.gap = r.told > r.read+1
			next.read = r.told
		}
		next.told = 0
		yield(deliver, next)
	}
	if !m.NoPoll {
		yield(poll, r.look())
	}
}

// look reads all events behind the last one that was read.
func (r reading) look() reading {
	r.read = r.stored
	return r
}

// Broken says that the reader has left out an event.
func (m Wakes) Broken(r reading) string {
	if r.gap {
		return "the reader has passed over an event"
	}
	return ""
}

// Progress: a reader gets everything within the second after which it looks by itself.
func (m Wakes) Progress() Progress[reading, wake] {
	return Progress[reading, wake]{
		Due:    func(reading) bool { return true },
		Done:   func(r reading) bool { return r.read == r.stored },
		Counts: func(a wake) bool { return a == deliver || a == poll },
		Second: func(a wake) bool { return a == poll },
		Within: 1,
		Stuck:  "the reader waits, and nothing will wake it, though there are events that it has not read",
	}
}

// Say describes the action in the state before it.
func (m Wakes) Say(r reading, a wake) string {
	switch a {
	case storeEvent:
		return fmt.Sprintf("A stores event %d; a notification names it.", r.stored+1)
	case loseNotification:
		return fmt.Sprintf("The notification of event %d is lost.", r.told)
	case deliver:
		return fmt.Sprintf("The reader, which has read up to event %d, is woken by the notification of event %d.", r.read, r.told)
	default:
		return "The reader looks by itself and reads what is new."
	}
}
