package dispatch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/grapnel-go/grapnel/internal/nodes"
	"github.com/grapnel-go/grapnel/internal/nodes/internode"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// The errors of a Dispatcher. Their texts say what the client can do.
var (
	// ErrNowhere: no live node has the project of the conversation, so its turn waits.
	ErrNowhere = errors.New("no daemon that runs now has the project")
	// ErrSilent: the node that has the conversation does not answer, and did not get the request.
	ErrSilent = errors.New("the daemon that has the conversation does not answer")
	// ErrUncertain: the node that has the conversation may have done what the request asks for.
	ErrUncertain = errors.New("the daemon that has the conversation went away before it answered")
)

// DefaultWait is the default of Options.Wait.
const DefaultWait = 15 * time.Second

// Options of a Dispatcher. Members, Client and Find are required.
type Options struct {
	Members *nodes.Members
	Client  *internode.Client
	// Find returns the record of a conversation, from the store.
	Find func(ctx context.Context, id string) (store.Record, error)
	// Busy reports whether an error of a handler says that another turn of the conversation runs.
	Busy func(err error) bool
	// Wait is how long a request waits for a node that can answer it; 0 is DefaultWait. It is longer than a TTL: then the
	// conversation of a node that died has another one.
	Wait time.Duration
}

// Dispatcher finds the node that answers. It is safe for concurrent use.
type Dispatcher struct{ o Options }

// New returns a dispatcher.
func New(o Options) *Dispatcher {
	o.Wait = cmp.Or(max(o.Wait, 0), DefaultWait)
	return &Dispatcher{o}
}

// Handler answers a request here. If it returns an error, it has written nothing.
type Handler func(w http.ResponseWriter, r *http.Request) error

// Where says which node answers requests about a conversation.
type Where int

const (
	// Held is the node that has the lease, or else [nodes.Members.Place].
	Held Where = iota
	// Stored is this node if it has the project, because the answer is in the store; otherwise as Held.
	Stored
	// Last is the node that has the lease or had it last and lives: what turns leave on its disk is there. Otherwise as Held.
	Last
)

// Request is a request about a conversation.
type Request struct {
	Conversation string
	Where        Where
	From         internode.Caller
	// Body is the whole body.
	Body []byte
	// Forward sends the request to another node; nil is [internode.Client.Forward]. Its errors are those of that.
	Forward func(w http.ResponseWriter, r *http.Request, to store.Node) error
}

// Answer answers the request here or on another node. The error is that of the handler, of Find, or one of this package; then nothing
// was written.
func (d *Dispatcher) Answer(w http.ResponseWriter, r *http.Request, q Request, here Handler) error {
	ctx := r.Context()
	until := time.Now().Add(d.o.Wait)
	var except []string // a node that has just refused
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		rec, err := d.o.Find(ctx, q.Conversation)
		if err != nil {
			return err
		}
		place := d.place(rec, q.Where, except)
		var failed error
		switch except = nil; {
		case place.Nowhere():
			failed = fmt.Errorf("%w %s: the turn waits; start `grapnel serve` where it is", ErrNowhere, rec.Key.Project)
		case place.Here:
			failed = here(w, withBody(r, q.Body))
			if !d.o.Busy(failed) || !d.heldElsewhere(ctx, q.Conversation) {
				return failed
			}
		default:
			failed = d.forward(w, r, q, place.Node)
			switch {
			case errors.Is(failed, internode.ErrBroken):
				return fmt.Errorf("%w: node %s; what it did is stored: look at the conversation before you send again", ErrUncertain, place.Node.ID)
			case !errors.Is(failed, internode.ErrUnreached) && !errors.Is(failed, internode.ErrMisdirected):
				return failed
			}
			failed = fmt.Errorf("%w: node %s: %v; send again", ErrSilent, place.Node.ID, failed)
			except = []string{place.Node.ID}
		}
		if time.Now().Add(pause).After(until) {
			return failed
		}
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
		_ = d.o.Members.Refresh(ctx) // without an answer what was known stays
	}
}

// The pauses between two looks.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// place returns where a request about the record's conversation is answered:
//
//	Where     a node has the lease    none has it
//	Held      there                   as Members.Place says
//	Stored    here, if this node has the project; otherwise as Held
//	Last      there                   at the live node that had it last; if there is none, as Held
func (d *Dispatcher) place(rec store.Record, where Where, except []string) nodes.Place {
	m := d.o.Members
	if where == Stored && m.Has(rec.Key.Project) {
		return nodes.Place{Here: true}
	}
	p := m.Place(rec, except...)
	if where == Last && !p.Held {
		if last, ok := m.Other(rec.Lease.Owner); ok {
			return nodes.Place{Node: last}
		}
	}
	return p
}

// takes reports whether this node answers a request that another one has sent here:
//
//	Where     this node has the lease    another has it         none has it
//	Held      yes                        no                     if Members.Place says here, unless refuse
//	Stored    yes                        if it has the project  as another, or as Held
//	Last      yes                        no                     if it has the project: the sender knows who had it last
func (d *Dispatcher) takes(rec store.Record, where Where, refuse bool) bool {
	p, has := d.o.Members.Place(rec), d.o.Members.Has(rec.Key.Project)
	switch {
	case where == Stored && has, where == Last && has && !p.Held:
		return true
	case p.Held:
		return p.Here
	}
	return p.Here && !refuse
}

// heldElsewhere reports whether another node has taken the conversation meanwhile.
func (d *Dispatcher) heldElsewhere(ctx context.Context, conversation string) bool {
	rec, err := d.o.Find(ctx, conversation)
	if err != nil {
		return false
	}
	_, held := d.o.Members.Holder(ctx, rec)
	return held
}

// forward sends the request to the node, and gives up when the node has died.
func (d *Dispatcher) forward(w http.ResponseWriter, r *http.Request, q Request, to store.Node) error {
	ctx, leave := d.o.Members.While(r.Context(), to.ID)
	defer leave()
	r = r.WithContext(ctx)
	var err error
	if q.Forward != nil {
		err = q.Forward(w, r, to)
	} else {
		err = d.o.Client.Forward(w, r, to, q.From, q.Body)
	}
	if errors.Is(context.Cause(ctx), nodes.ErrDied) && errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %w", internode.ErrBroken, nodes.ErrDied)
	}
	return err
}

// Received answers a request that another node has sent here. The error is internode.ErrMisdirected if this node is not the one to
// answer it. refuse: this node begins nothing new.
func (d *Dispatcher) Received(w http.ResponseWriter, r *http.Request, q Request, refuse bool, here Handler) error {
	rec, err := d.o.Find(r.Context(), q.Conversation)
	if err != nil {
		return err
	}
	if !d.takes(rec, q.Where, refuse) {
		return fmt.Errorf("%w: conversation %s", internode.ErrMisdirected, q.Conversation)
	}
	err = here(w, r)
	if d.o.Busy(err) && d.heldElsewhere(r.Context(), q.Conversation) {
		return fmt.Errorf("%w: conversation %s: %w", internode.ErrMisdirected, q.Conversation, err)
	}
	return err
}

// Anywhere answers a request on the node whose handler does not say that it is about nothing: here first, then on the other nodes in turn. unknown
// reports whether an error of the handler says so; other nodes say it with 404.
func (d *Dispatcher) Anywhere(w http.ResponseWriter, r *http.Request, q Request, unknown func(error) bool, here Handler) error {
	failed := here(w, withBody(r, q.Body))
	if !unknown(failed) {
		return failed
	}
	for _, n := range d.others(q.From) {
		resp, err := d.o.Client.Do(r.Context(), n, q.From, internode.Request{Method: r.Method, Path: r.URL.RequestURI(), Body: q.Body})
		switch {
		case errors.Is(err, internode.ErrUnreached):
			failed = fmt.Errorf("%w: node %s, which may be the one that waits: %v; send again", ErrSilent, n.ID, err)
		case err != nil:
			return fmt.Errorf("%w: node %s: %v", ErrUncertain, n.ID, err)
		case resp.StatusCode == http.StatusNotFound:
			_ = resp.Body.Close() // it is not the one
		default:
			defer resp.Body.Close()
			Copy(w, resp)
			return nil
		}
	}
	return failed
}

// Copy writes the answer of another node.
func Copy(w http.ResponseWriter, resp *http.Response) {
	for name, values := range internode.AnswerHeaders(resp.Header) {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body) // if that fails, the client or the node has gone
}

func withBody(r *http.Request, body []byte) *http.Request {
	out := r.WithContext(r.Context())
	out.Body = io.NopCloser(bytes.NewReader(body))
	return out
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
