package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
)

// maxEarly is how many answers a conversation keeps for inquiries that nobody has
// made yet.
const maxEarly = 16

// Inquiry is a set of questions that waits for its answer.
type Inquiry struct {
	hook.Inquiry
	// Agent asks in this turn of this conversation: the one that people see, also if
	// a child's turn asks.
	Agent        string
	Conversation string
	Turn         string
	Asked        time.Time
}

// inquiries are the questions of a runtime. The zero value is ready.
type inquiries struct {
	mu  sync.Mutex
	all map[inquiryKey]*inquiry
	// count numbers them.
	count int
}

type inquiryKey struct{ conversation, id string }

// inquiry is one that waits, or has its answer, or has it before it is made. It is
// kept until the conversation's turn ends, so that nobody answers twice.
type inquiry struct {
	Inquiry
	number int
	asked  bool
	// given is closed when there is a reply.
	given chan struct{}
	reply *reply
	// over: nobody waits any more.
	over bool
}

type reply struct {
	response hook.Response
	by       string
}

// Ask implements hook.Host.
func (h *host) Ask(ctx context.Context, q hook.Inquiry) (hook.Response, error) {
	t := h.inTurn(ctx)
	if t == nil {
		return hook.Response{}, hook.ErrNoTurn
	}
	switch {
	case q.ID == "":
		return hook.Response{}, errors.New("runtime: Ask: the inquiry has no id; set Inquiry.ID to the key of the call that asks, Env.Key")
	case q.Questions.Len() == 0:
		return hook.Response{}, fmt.Errorf("runtime: Ask: inquiry %q has no question; ask at least one", q.ID)
	}
	all, key := &h.rt.asked, inquiryKey{h.log.Top().Conversation(), q.ID}
	waiting, err := all.ask(key, Inquiry{Inquiry: q, Agent: h.log.Agent(), Conversation: key.conversation, Turn: t.id, Asked: h.rt.o.Now()})
	if err != nil {
		return hook.Response{}, err
	}
	h.emit(ctx, hook.Event{Kind: event.QuestionAsked}.WithDetail(hook.EventDetail{Inquiry: q}))
	err = waiting.wait(ctx)
	r := all.close(waiting)
	given := hook.Event{Kind: event.QuestionGiven}
	d := hook.EventDetail{Inquiry: q}
	switch {
	case r != nil:
		d.Response, d.By, err = r.response, r.by, nil
	case errors.Is(err, hook.ErrUnanswered):
		given.Text = "nobody answered in time"
	default:
		given.Text = "nobody waits for an answer any more"
	}
	h.emit(context.WithoutCancel(ctx), given.WithDetail(d))
	return d.Response, err
}

// ask makes an inquiry, for which there may be an answer already.
func (a *inquiries) ask(key inquiryKey, q Inquiry) (*inquiry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	in := a.all[key]
	switch {
	case in == nil:
		in = a.addLocked(key)
	case in.asked:
		return nil, fmt.Errorf("runtime: Ask: inquiry %q was made before in this turn; put all questions into one, or add to its id what tells them apart", key.id)
	}
	in.Inquiry, in.asked = q, true
	if in.reply != nil && checkResponse(q.Inquiry, in.reply.response) != nil {
		in.reply, in.given = nil, make(chan struct{}) // it does not fit what is asked
	}
	return in, nil
}

func (a *inquiries) addLocked(key inquiryKey) *inquiry {
	if a.all == nil {
		a.all = map[inquiryKey]*inquiry{}
	}
	a.count++
	in := &inquiry{number: a.count, given: make(chan struct{})}
	in.ID, in.Conversation = key.id, key.conversation
	a.all[key] = in
	return in
}

func (in *inquiry) wait(ctx context.Context) error {
	var late <-chan time.Time
	if in.Timeout > 0 {
		timer := time.NewTimer(in.Timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-in.given:
		return nil
	case <-late:
		return hook.ErrUnanswered
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close says that nobody waits any more, and returns the reply if there is one:
// one that came in the last moment counts.
func (a *inquiries) close(in *inquiry) *reply {
	a.mu.Lock()
	defer a.mu.Unlock()
	in.over = true
	return in.reply
}

// forget drops what is left of a conversation's inquiries when its turn has ended.
func (a *inquiries) forget(conversation string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key := range a.all {
		if key.conversation == conversation {
			delete(a.all, key)
		}
	}
}

// Inquiries returns what waits for an answer, the oldest first.
func (r *Runtime) Inquiries() []Inquiry {
	r.asked.mu.Lock()
	defer r.asked.mu.Unlock()
	var waiting []*inquiry
	for _, in := range r.asked.all {
		if in.asked && !in.over && in.reply == nil {
			waiting = append(waiting, in)
		}
	}
	slices.SortFunc(waiting, func(a, b *inquiry) int { return cmp.Compare(a.number, b.number) })
	out := make([]Inquiry, len(waiting))
	for i, in := range waiting {
		out[i] = in.Inquiry
	}
	return out
}

// Answer answers an inquiry of a conversation; by says who does, for the event. It
// may come before the inquiry is made, as long as a turn of the conversation runs:
// who has seen the call that will ask need not wait for it. Such an answer is
// checked when the inquiry is made; one that does not fit is dropped then, and
// another one is waited for. ErrInquiryUnknown if nobody asks that and no turn
// runs, or the id is empty, ErrAnswered if somebody has answered or nobody waits
// any more; otherwise the error says what does not fit the questions.
func (r *Runtime) Answer(conversation, id, by string, response hook.Response) error {
	running := r.runs(conversation)
	a, key := &r.asked, inquiryKey{conversation, id}
	a.mu.Lock()
	defer a.mu.Unlock()
	in := a.all[key]
	switch {
	case in == nil && (id == "" || !running || a.earlyLocked(conversation) >= maxEarly):
		return fmt.Errorf("%w: %q in conversation %s", ErrInquiryUnknown, id, conversation)
	case in == nil:
		in = a.addLocked(key)
	case in.reply != nil || in.over:
		return fmt.Errorf("%w: %q", ErrAnswered, id)
	}
	if in.asked {
		if err := checkResponse(in.Inquiry.Inquiry, response); err != nil {
			return err
		}
	}
	in.reply = &reply{response, by}
	close(in.given)
	return nil
}

// earlyLocked counts the answers of a conversation that nobody has asked for.
func (a *inquiries) earlyLocked(conversation string) (n int) {
	for key, in := range a.all {
		if key.conversation == conversation && !in.asked {
			n++
		}
	}
	return n
}

// checkResponse says what in a response does not fit the questions.
func checkResponse(q hook.Inquiry, r hook.Response) error {
	if r.Given.Len() != q.Questions.Len() {
		return fmt.Errorf("the inquiry has %d questions and the response %d answers; give one for each, in their order", q.Questions.Len(), r.Given.Len())
	}
	for i, given := range r.Given.All() {
		question := q.Questions.At(i)
		if given.Chosen.Len() > 1 && !question.Multi {
			return fmt.Errorf("answer %d chooses %d options; the question takes one", i+1, given.Chosen.Len())
		}
		for _, label := range given.Chosen.All() {
			if !slices.ContainsFunc(question.Options.Slice(), func(c hook.Choice) bool { return c.Label == label }) {
				return fmt.Errorf("answer %d chooses %.80q, which is no option; choose one of them, or give text", i+1, label)
			}
		}
	}
	return nil
}

// runs reports whether a turn of the conversation is running here.
func (r *Runtime) runs(conversation string) bool {
	for _, a := range r.all() {
		for _, c := range a.all() {
			if c.ID() == conversation && c.current() != nil {
				return true
			}
		}
	}
	return false
}
