// Package monitor watches a runtime for the people who run it: whether it is ready, and what it does right now. It changes nothing
// and knows no network.
//
// No lock is held during a call of the store.
package monitor

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Options of New. The zero value is ready from its begin.
type Options struct {
	// Starting: the daemon is not ready before Registered is called.
	Starting bool
	// Answered is called after each answer, by many goroutines; nil is nobody.
	Answered func(r Request)
}

// Monitor watches one runtime. As a hook of the runtime it sees the calls of running turns too. It is safe for concurrent use.
type Monitor struct {
	hook.Nop
	o       Options
	started time.Time

	store   store.Store
	project string

	starting, closing atomic.Bool
	queued            atomic.Int64
	turns             turns
	streams           streams

	mu    sync.Mutex
	probe *probe
}

// New returns a monitor that watches nothing yet; nil is all zero values.
func New(o *Options) *Monitor {
	m := &Monitor{started: time.Now()}
	if o != nil {
		m.o = *o
	}
	m.starting.Store(m.o.Starting)
	return m
}

// Watch says which store the runtime has, and which project its turns belong to. It is called once, before every other method but
// the hook's.
func (m *Monitor) Watch(s store.Store, project string) { m.store, m.project = s, project }

// Registered says that the agents have been registered, or refused.
func (m *Monitor) Registered() { m.starting.Store(false) }

// Closing says that no turn begins any more.
func (m *Monitor) Closing() { m.closing.Store(true) }

// Request is a request that was answered. It has nothing of what a client chose to write.
type Request struct {
	// Method is GET, POST, PUT, DELETE or other.
	Method string
	// Route is the pattern of the path, as the document of the API has it; "" if there is none.
	Route  string
	Status int
	Took   time.Duration
	// Token is the name of the caller's token; "" is the user of the socket, or nobody.
	Token string
}

// Answered says that a request was answered.
func (m *Monitor) Answered(r Request) {
	if m.o.Answered != nil {
		m.o.Answered(r)
	}
}
