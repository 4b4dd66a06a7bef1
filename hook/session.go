package hook

import (
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Session is the place of one attachment to a conversation: by a client that
// connected, or by the process that loaded it. It is immutable, except for Totals,
// which is safe to call from any goroutine.
type Session struct {
	d      SessionData
	mu     sync.Mutex
	totals Totals
}

// SessionSource says how a session began.
type SessionSource string

// The sources of a session.
const (
	SessionStartup SessionSource = "startup" // an empty conversation
	SessionResume  SessionSource = "resume"  // a conversation that was stored
	SessionClear   SessionSource = "clear"   // one whose history was cleared
	SessionCompact SessionSource = "compact" // one whose history was compacted
	SessionFork    SessionSource = "fork"    // a copy of another
)

// Totals are the sums over a session's turns so far.
type Totals struct {
	// Turns and Calls count the turns that have ended and their tool calls.
	Turns, Calls int
	Usage        message.Usage
	Cost         Cost
	// Duration is the time of all turns.
	Duration time.Duration
}

// Add returns the totals with one more turn.
func (t Totals) Add(o TurnOutcome) Totals {
	return Totals{
		Turns: t.Turns + 1, Calls: t.Calls + o.Calls, Usage: t.Usage.Add(o.Usage),
		Cost: t.Cost + o.Cost, Duration: t.Duration + o.Duration,
	}
}

// Conversation returns the conversation of the session.
func (s *Session) Conversation() *Conversation { return s.d.Conversation }

// Agent returns the agent's registered configuration.
func (s *Session) Agent() *AgentConfig { return s.d.Conversation.Agent() }

// ID is unique in the store and is never reused.
func (s *Session) ID() string { return s.d.ID }

// Source says how the session began.
func (s *Session) Source() SessionSource { return s.d.Source }

// Started is when the session began.
func (s *Session) Started() time.Time { return s.d.Started }

// Totals returns the sums over the session's turns so far, as one consistent value.
func (s *Session) Totals() Totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.totals
}

// Host returns the runtime's services for hooks. It is never nil.
func (s *Session) Host() Host { return s.d.Conversation.Host() }
