// Package human keeps the requests that wait for an answer from outside: questions of agents,
// tool calls that need a person's approval, and tool calls that a client runs. It does not
// deliver them.
//
// # Early answers
//
// A client sees the tool call before the call asks its question, and may answer that
// early. The same holds for the result of a call that a client runs. The table keeps a bounded number of early answers for each conversation. It
// drops an early answer that does not fit the questions. A call cannot be approved
// early, because the person has not seen it.
//
// # Locks
//
// Table.mu is held without any other lock, and never during a wait.
package human

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/character"
)

const (
	// maxEarly limits the early answers of one conversation.
	maxEarly = 16
	// maxSettled limits the ended requests whose end the table remembers.
	maxSettled = 1024
	// maxShown limits what a second person reads of an answer, in characters.
	maxShown = 100
)

// Errors of Answer, for errors.Is.
var (
	ErrAnswered = errors.New("runtime: the request takes no answer any more")
	ErrUnknown  = errors.New("runtime: no such request")
)

// Key names a request.
type Key struct{ Conversation, ID string }

// Request waits for an answer: to questions, to a tool call that needs approval, or to a call
// that a client runs.
type Request struct {
	hook.Inquiry
	// Call is the call that a client runs; nil for all other requests. ID is that of the call.
	Call *Call
	// Conversation is the conversation that people see, also if a child's turn asks.
	Conversation string
	// Agent and Turn ask. Depth is 0 for a turn of the conversation itself, and more for
	// a turn that another turn runs.
	Agent, Turn string
	Depth       int
	Asked       time.Time

	done <-chan struct{}
}

// Done is closed when the request takes no more answers. It is nil unless Pending
// returned the request.
func (r Request) Done() <-chan struct{} { return r.done }

// Expires returns the time at which the request times out; zero is never.
func (r Request) Expires() time.Time {
	if r.Timeout <= 0 {
		return time.Time{}
	}
	return r.Asked.Add(r.Timeout)
}

func (r Request) key() Key { return Key{r.Conversation, r.ID} }

// Call is a tool call that a client runs.
type Call struct {
	Tool string
	// Args fit the schema of the tool.
	Args message.JSON
}

// Answer is the answer to a request. By names the person who gave it, At is when.
type Answer struct {
	hook.Response
	// Result is that of a call; nil for all other requests.
	Result *message.ToolResult
	By     string
	At     time.Time
}

// String says who answered what and when, for whoever comes second.
func (a Answer) String() string {
	when := "at " + a.At.UTC().Format("15:04:05 UTC")
	if a.Approval == nil {
		return fmt.Sprintf("%s answered it %s: %s", cmp.Or(a.By, "somebody"), when, a.given())
	}
	did := "answered it"
	switch a.Approval.Answer {
	case hook.AnswerApprove:
		did = "approved it"
	case hook.AnswerModify:
		did = "approved it with other arguments"
	case hook.AnswerRefuse:
		did = "refused it"
	}
	return fmt.Sprintf("%s %s %s", cmp.Or(a.By, "somebody"), did, when)
}

// given returns what was answered to each question, in one line.
func (a Answer) given() string {
	var all []string
	for _, g := range a.Given.All() {
		one := strings.Join(append(g.Chosen.Slice(), strings.Fields(g.Text)...), " ")
		all = append(all, cmp.Or(one, "nothing"))
	}
	text, _ := character.Cut(strings.ToValidUTF8(strings.Join(all, "; "), ""), maxShown)
	return text
}

// answeredBy reports whether the answer is of the kind that the request wants.
func (r Request) answeredBy(a Answer) bool {
	return (r.Approval != nil) == (a.Approval != nil) && (r.Call != nil) == (a.Result != nil)
}

// Table holds the requests of a runtime. The zero value is ready; it is safe for
// concurrent use.
type Table struct {
	mu       sync.Mutex
	requests map[Key]*entry
	// expected are the calls that may ask for approval at any moment.
	expected map[*expectation]struct{}
	settled  settled
	// count numbers the requests.
	count int
}

// entry is a request, or an early answer whose request was not made yet.
type entry struct {
	Request
	number int
	asked  bool
	answer *Answer
	// over: the entry takes no more answers, and done is closed.
	over bool
	done chan struct{}
}

// endLocked closes the request to answers for the reason why. Questions stay in the table
// until the turn ends, so that a second answer is refused. An approval leaves at once,
// because its id is never used again.
func (t *Table) endLocked(e *entry, why string) {
	if e.over {
		return
	}
	e.over = true
	close(e.done)
	if e.Approval != nil {
		delete(t.requests, e.key())
		t.settled.add(Key{ID: e.ID}, why)
	}
}

// Ask makes a request and waits for its answer. Once Pending has the request, and before
// it waits, it calls listed. Ask returns an answer that Answer has accepted, also if ctx
// ended at the same moment. The error is hook.ErrUnanswered after the request's timeout,
// hook.ErrNoTurn if the request was forgotten, the cause of ctx, or a mistake in the
// request.
func (t *Table) Ask(ctx context.Context, r Request, listed func()) (Answer, error) {
	if err := valid(r); err != nil {
		return Answer{}, err
	}
	e, err := t.add(r)
	if err != nil {
		return Answer{}, err
	}
	listed()
	return t.conclude(e, e.wait(ctx))
}

// add lists a request. It keeps an early answer that fits.
func (t *Table) add(r Request) (*entry, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.requests[r.key()]
	switch {
	case e == nil:
		e = t.addLocked(r.key())
	case e.asked:
		return nil, fmt.Errorf("runtime: Ask: inquiry %q was made before in this turn; put all questions into one, or add to its id what tells them apart", r.ID)
	}
	if e.answer != nil && check(r, *e.answer) != nil {
		e.answer, e.over, e.done = nil, false, make(chan struct{})
	}
	e.Request, e.asked = r, true
	e.Request.done = e.done
	if r.Approval != nil {
		t.arriveLocked(func(x *expectation) bool { return x.turn == r.Turn && x.call == r.Approval.CallID })
	}
	return e, nil
}

func (t *Table) addLocked(k Key) *entry {
	if t.requests == nil {
		t.requests = map[Key]*entry{}
	}
	t.count++
	e := &entry{number: t.count, done: make(chan struct{})}
	e.Conversation, e.ID = k.Conversation, k.ID
	t.requests[k] = e
	return e
}

func (e *entry) wait(ctx context.Context) error {
	var late <-chan time.Time
	if e.Timeout > 0 {
		timer := time.NewTimer(e.Timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-e.done:
		return nil
	case <-late:
		return hook.ErrUnanswered
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// conclude ends the request after the wait ended with err, and returns the answer if there
// is one.
func (t *Table) conclude(e *entry, err error) (Answer, error) {
	why := "its turn is ending, or an answer that was remembered holds"
	if errors.Is(err, hook.ErrUnanswered) {
		why = "its time is over"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endLocked(e, why)
	switch {
	case e.answer != nil:
		return *e.answer, nil
	case err == nil:
		return Answer{}, hook.ErrNoTurn
	}
	return Answer{}, err
}

// Answer answers a request. The first answer counts. With early, Answer keeps an answer to
// questions that were not asked yet. A key without a conversation finds the request by its
// id alone. The error is ErrUnknown, ErrAnswered with the reason, or says why the answer
// does not fit the request.
func (t *Table) Answer(k Key, a Answer, early bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, err := t.openLocked(k, a, early)
	if err != nil {
		return err
	}
	if a.Approval != nil {
		reply := *a.Approval
		reply.By = a.By
		a.Approval = &reply
	}
	if e.asked {
		if err := check(e.Request, a); err != nil {
			return err
		}
	}
	e.answer = &a
	t.endLocked(e, a.String())
	return nil
}

// openLocked returns the entry that the answer is for. It adds one for an early answer.
func (t *Table) openLocked(k Key, a Answer, early bool) (*entry, error) {
	e := t.findLocked(k)
	switch why := t.settled.of(k, a); {
	case e == nil && why != "" && a.Approval != nil:
		return nil, fmt.Errorf("%w: %s", ErrAnswered, why)
	case e == nil && early && t.mayBeEarlyLocked(k, a):
		return t.addLocked(k), nil
	case e == nil && why != "":
		return nil, fmt.Errorf("%w: %s", ErrAnswered, why)
	case e == nil, e.asked && !e.answeredBy(a):
		return nil, fmt.Errorf("%w: %q", ErrUnknown, k.ID)
	case e.over && !e.asked && (e.answer.Result == nil) != (a.Result == nil): // the one before was for another kind of request
		e.answer, e.over, e.done = nil, false, make(chan struct{})
	case e.over && e.answer != nil && e.Call == nil && a.Result == nil:
		return nil, fmt.Errorf("%w: %s", ErrAnswered, e.answer)
	case e.over:
		return nil, fmt.Errorf("%w: %q", ErrAnswered, k.ID)
	}
	return e, nil
}

func (t *Table) findLocked(k Key) *entry {
	if k.Conversation != "" {
		return t.requests[k]
	}
	for _, e := range t.requests {
		if e.asked && e.ID == k.ID {
			return e
		}
	}
	return nil
}

// mayBeEarlyLocked reports whether the answer can be kept as an early one.
func (t *Table) mayBeEarlyLocked(k Key, a Answer) bool {
	n := 0
	for _, e := range t.requests {
		if e.Conversation == k.Conversation && !e.asked {
			n++
		}
	}
	return n < maxEarly && k.Conversation != "" && k.ID != "" && a.Approval == nil
}

// Pending returns the requests that wait for an answer, the oldest first.
func (t *Table) Pending() []Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	var waiting []*entry
	for _, e := range t.requests {
		if e.asked && !e.over {
			waiting = append(waiting, e)
		}
	}
	slices.SortFunc(waiting, func(a, b *entry) int { return cmp.Compare(a.number, b.number) })
	out := make([]Request, len(waiting))
	for i, e := range waiting {
		out[i] = e.Request
	}
	return out
}

// DropEarly drops an early answer to a request that will not be made.
func (t *Table) DropEarly(k Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.requests[k]; e != nil && !e.asked {
		delete(t.requests, k)
	}
}

// Forget drops the requests of a conversation whose turn has ended. Any waiting Ask
// returns.
func (t *Table) Forget(conversation string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, e := range t.requests {
		if key.Conversation != conversation {
			continue
		}
		delete(t.requests, key)
		t.endLocked(e, "its turn has ended")
		if e.asked && e.answer != nil && e.Call == nil && e.Approval == nil {
			t.settled.add(key, e.answer.String())
		}
	}
	t.arriveLocked(func(x *expectation) bool { return x.conversation == conversation })
}

// settled keeps how each of the last requests ended: approvals by their id, and questions, whose ids are those of a conversation, by both.
type settled struct {
	why map[Key]string
	// order is the keys, the oldest first.
	order []Key
}

func (s *settled) add(k Key, why string) {
	if s.why == nil {
		s.why = map[Key]string{}
	}
	if _, again := s.why[k]; again { // a turn that was resumed asks the same
		s.order = slices.DeleteFunc(s.order, func(o Key) bool { return o == k })
	}
	if len(s.order) == maxSettled {
		delete(s.why, s.order[0])
		s.order = s.order[1:]
	}
	s.why[k] = why
	s.order = append(s.order, k)
}

// of returns how the request of the key ended that the answer is for; "" if the table does not know. Without a conversation it is the last
// one with the id.
func (s *settled) of(k Key, a Answer) string {
	if a.Approval != nil {
		return s.why[Key{ID: k.ID}]
	}
	for _, o := range slices.Backward(s.order) {
		if o.ID == k.ID && o.Conversation != "" && (k.Conversation == "" || k.Conversation == o.Conversation) {
			return s.why[o]
		}
	}
	return ""
}
