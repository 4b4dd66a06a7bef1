package scale_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime"
)

// talk is a conversation of a person whose client knows all daemons, and what the person was told of it.
type talk struct {
	id      string
	clients []*client.Client // one that begins with each daemon
	n       int              // of the conversation
	turns   int              // that it has begun

	mu   sync.Mutex
	rng  *rand.Rand
	seen seen
	// news is closed and replaced whenever seen changes.
	news chan struct{}
}

// seen is what the client of a conversation was told.
type seen struct {
	// inputs are the messages that a daemon has taken, and steers those to a running turn.
	inputs, steers []string
	// began has the turns that a daemon has said to run, by their ids, and since when.
	began map[string]time.Time
	ended map[string]bool
	// kept are the events of its stream that are kept, but for those that a daemon has taken back.
	kept []hook.Event
	// wrong is what must not be in a stream.
	wrong []string
	// last is the id of the last item.
	last string
	// alarms counts the notes that more than deltas may be missing.
	alarms int
	// cancelled are turns that it has cancelled.
	cancelled int
	// slowest is the longest time from the beginning of a turn until its end was seen.
	slowest time.Duration
}

// patience is how long a request may take; then it is asked elsewhere.
const patience = 4 * time.Second

func newTalk(ctx context.Context, n int, clients []*client.Client, seed uint64) (*talk, error) {
	k := &talk{clients: clients, n: n, rng: rand.New(rand.NewPCG(seed, uint64(n))), news: make(chan struct{})}
	conv, err := k.client().Conversation(ctx, "", fmt.Sprintf("sender-%d", n))
	if err != nil {
		return nil, err
	}
	k.id = conv.ID
	k.seen = seen{began: map[string]time.Time{}, ended: map[string]bool{}, last: conv.LastEventID}
	return k, nil
}

// draw returns a number below n.
func (k *talk) draw(n int) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.rng.IntN(n)
}

// client returns that of any daemon.
func (k *talk) client() *client.Client { return k.clients[k.draw(len(k.clients))] }

// note changes what was seen.
func (k *talk) note(do func(s *seen)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	do(&k.seen)
	close(k.news)
	k.news = make(chan struct{})
}

// snapshot returns what was seen; nobody may change it.
func (k *talk) snapshot() seen {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.seen
}

// talk runs turns until stop is closed, and returns when the last one has ended or ctx ends.
func (k *talk) talk(ctx context.Context, stop <-chan struct{}) {
	for ctx.Err() == nil {
		select {
		case <-stop:
			return
		default:
		}
		k.turn(ctx, order{calls: k.draw(3), asks: k.draw(4) / 3})
	}
}

// turn tries to run a turn, and waits for its end if a daemon has taken its input.
func (k *talk) turn(ctx context.Context, o order) (taken bool) {
	k.turns++
	o.label = fmt.Sprintf("c%d-%d", k.n, k.turns)
	o.asks = min(o.asks, o.calls)
	turn, err := ask(ctx, func(ctx context.Context) (wire.Turn, error) { return k.client().Send(ctx, k.id, o.String()) })
	if err != nil { // the turn may run all the same; then the next one is refused until it has ended
		pause(ctx, time.Duration(20+k.draw(100))*time.Millisecond)
		return false
	}
	k.took(turn, o.String(), false)
	switch k.draw(12) {
	case 0:
		k.cancel(ctx)
	case 1, 2:
		k.steer(ctx, o.label)
	}
	k.awaitEnd(ctx, turn.ID)
	return true
}

// ask asks with a bound of time.
func ask[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return do(ctx)
}

func (k *talk) took(turn wire.Turn, text string, steered bool) {
	k.note(func(s *seen) {
		if steered {
			s.steers = append(s.steers, text)
			return
		}
		s.inputs = append(s.inputs, text)
		if s.began[turn.ID].IsZero() {
			s.began[turn.ID] = time.Now()
		}
	})
}

// cancel cancels the turn that runs, soon.
func (k *talk) cancel(ctx context.Context) {
	pause(ctx, time.Duration(k.draw(200))*time.Millisecond)
	done, err := ask(ctx, func(ctx context.Context) (wire.Cancelled, error) { return k.client().Cancel(ctx, k.id) })
	if err == nil && done.Cancelled {
		k.note(func(s *seen) { s.cancelled++ })
	}
}

// steer says something to the turn that runs; if it has ended, that begins another one.
func (k *talk) steer(ctx context.Context, label string) {
	pause(ctx, time.Duration(k.draw(200))*time.Millisecond)
	text := "and also " + label
	turn, err := ask(ctx, func(ctx context.Context) (wire.Turn, error) {
		return k.client().SendWhenBusy(ctx, k.id, text, wire.BusySteer)
	})
	if err != nil {
		return
	}
	k.took(turn, text, turn.Steered)
	if !turn.Steered {
		k.awaitEnd(ctx, turn.ID)
	}
}

// awaitEnd returns when the end of the turn was seen.
func (k *talk) awaitEnd(ctx context.Context, turn string) {
	for {
		k.mu.Lock()
		ended, news := k.seen.ended[turn], k.news
		k.mu.Unlock()
		if ended {
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
			return
		}
	}
}

// answer approves what the turns ask, through any daemon, until ctx ends.
func (k *talk) answer(ctx context.Context) {
	for pause(ctx, 150*time.Millisecond) {
		asks, err := ask(ctx, func(ctx context.Context) ([]wire.Ask, error) { return k.client().Asks(ctx, k.id) })
		if err != nil {
			continue
		}
		for _, one := range asks {
			_, _ = ask(ctx, func(ctx context.Context) (struct{}, error) { // who fails tries again
				return struct{}{}, k.client().Answer(ctx, one.ID, wire.Answer{Answer: wire.AnswerApprove})
			})
		}
	}
}

// follow reads the stream of the conversation through one daemon after the other until ctx ends.
func (k *talk) follow(ctx context.Context) {
	for ctx.Err() == nil {
		c, most := k.client(), 10+k.draw(200)
		k.mu.Lock()
		last := k.seen.last
		k.mu.Unlock()
		for item, err := range c.Events(ctx, k.id, last) {
			if err != nil {
				if !errors.Is(err, context.Canceled) {
					pause(ctx, 20*time.Millisecond)
				}
				break
			}
			k.note(func(s *seen) { s.item(item) })
			if most--; most == 0 {
				break
			}
		}
	}
}

// item adds an item of a stream.
func (s *seen) item(item client.Item) {
	s.last = item.ID
	switch {
	case item.Restarted:
		s.restarted(item)
	case item.Missed > 0:
		if !item.Kept { // if that was so, the stream is not what is stored
			s.alarms++
		}
	default:
		s.event(item.Event)
	}
}

// restarted drops what a daemon has told of and not kept.
func (s *seen) restarted(item client.Item) {
	at, err := runtime.ParsePosition(item.ID)
	if err != nil || !item.Kept {
		s.wrong = append(s.wrong, fmt.Sprintf("a stream is reset to %s: %v", item.ID, err))
		return
	}
	for len(s.kept) > 0 && s.kept[len(s.kept)-1].Seq > at.Seq {
		s.kept = s.kept[:len(s.kept)-1]
	}
}

func (s *seen) event(ev hook.Event) {
	if n := len(s.kept); n > 0 && ev.Epoch < s.kept[n-1].Epoch {
		s.wrong = append(s.wrong, fmt.Sprintf("event %d of epoch %d comes after one of epoch %d", ev.Seq, ev.Epoch, s.kept[n-1].Epoch))
	}
	switch ev.Kind {
	case event.TextDelta, event.ReasoningDelta, event.CallProgress:
		return
	}
	s.kept = append(s.kept, ev)
	if ev.Kind == event.TurnEnd && ev.Depth == 0 {
		s.ended[ev.Turn] = true
		if began := s.began[ev.Turn]; !began.IsZero() {
			s.slowest = max(s.slowest, time.Since(began))
		}
	}
}
