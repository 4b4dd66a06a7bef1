package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/api/wire"
	"github.com/grapnel-go/grapnel/internal/client"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// asking asks as the subsystem does.
func asking(ctx context.Context, h *api.Hook, args message.JSON) <-chan asked {
	out := make(chan asked, 1)
	go func() {
		reply, err := h.Ask(ctx, approval.Request{
			Agent: "helper", Conversation: "conv", Turn: "turn", CallID: "c1", Tool: "danger", Args: args, Asked: time.Now(),
			Offers: message.ListOf(approval.Offer{ID: "call-conversation", Text: "exactly this"}),
		})
		out <- asked{reply, err}
	}()
	return out
}

type asked struct {
	reply approval.Reply
	err   error
}

// told is an event about the call that asking asks about.
func told(kind hook.EventKind) hook.Event {
	return hook.Event{Kind: kind, Conversation: "conv", Turn: "turn"}.WithDetail(hook.EventDetail{CallID: "c1", Tool: "danger"})
}

// asksOf serves one request about asks, for tests in a bubble of time.
type asksOf struct {
	t *testing.T
	h *api.Hook
	s *api.Server
}

func newAsksOf(t *testing.T, w *world) asksOf {
	o := w.options()
	return asksOf{t, o.Hook, api.New(o)}
}

func (a asksOf) serve(req *http.Request) *httptest.ResponseRecorder {
	out := httptest.NewRecorder()
	a.s.ServeHTTP(out, req)
	return out
}

func (a asksOf) list() []wire.Ask { return a.listWith(a.t.Context()) }

func (a asksOf) listWith(ctx context.Context) []wire.Ask {
	out := a.serve(httptest.NewRequestWithContext(ctx, http.MethodGet, "http://grapnel/v1/asks", nil))
	var asks wire.Asks
	require.NoError(a.t, jsonOf(out, &asks))
	return asks.Asks
}

func (a asksOf) answer(id, body string) (int, string) {
	req := httptest.NewRequestWithContext(a.t.Context(), http.MethodPost, "http://grapnel/v1/asks/"+id, bodyOf(body))
	req.Header.Set("Content-Type", "application/json")
	out := a.serve(req)
	return out.Code, out.Body.String()
}

const approves = `{"answer":"approve"}`

// TestAsk: an ask is there as long as it waits, and gets one answer.
func TestAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	in := func(name string, run func(t *testing.T, a asksOf)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { run(t, newAsksOf(t, w)) })
		})
	}
	in("it is answered", func(t *testing.T, a asksOf) {
		got := asking(t.Context(), a.h, `{"s":"x"}`)
		synctest.Wait()
		asks := a.list()
		require.Len(t, asks, 1)
		id := asks[0].ID
		for body, says := range map[string]string{
			`{"answer":"approve","remember":"tool-project"}`:                       "none of the offers of this ask: call-conversation",
			`{"answer":"modify","args":{},"remember":"call-conversation"}`:         "a modification is for its one call",
			`{"answer":"approve","by":"rule"}`:                                     "by has to be a name",
			`{"answer":"refuse","reason":"` + strings.Repeat("x", 4097) + `"}`:     "at most 4096 bytes",
			`{"answer":"approve","remember":"call-conversation","for":"whom"}`:     "for",
			`{"answer":"approve","remember":"call-conversation","reason":"a why"}`: "reason goes with the answer refuse only",
		} {
			code, text := a.answer(id, body)
			assert.Equal(t, http.StatusBadRequest, code, body)
			assert.Contains(t, text, says)
		}
		code, _ := a.answer(id, `{"answer":"approve","remember":"call-conversation","by":"ann"}`)
		assert.Equal(t, http.StatusOK, code)
		assert.Equal(t, asked{approval.Reply{Answer: hook.AnswerApprove, Remember: "call-conversation", By: "ann"}, nil}, <-got)
		assert.Empty(t, a.list())
		code, text := a.answer(id, approves)
		assert.Equal(t, http.StatusConflict, code)
		assert.Contains(t, text, "it has its answer; the event approval_given shows what holds")
		code, _ = a.answer("x"+id, approves)
		assert.Equal(t, http.StatusNotFound, code)
		for range 1024 {
			got := asking(t.Context(), a.h, `{}`)
			synctest.Wait()
			code, _ = a.answer(a.list()[0].ID, approves)
			require.Equal(t, http.StatusOK, code)
			<-got
		}
		code, _ = a.answer(id, approves)
		assert.Equal(t, http.StatusNotFound, code, "long ago")
	})
	for name, tt := range map[string]struct {
		cause error
		why   string
	}{
		"its time is over":       {approval.ErrTimeout, "its time is over"},
		"a rule answers":         {approval.ErrAnswered, "an answer that was remembered meanwhile holds"},
		"the daemon ends":        {approval.ErrClosing, "its turn is ending"},
		"the turn was cancelled": {context.Canceled, "its turn is ending"},
	} {
		in(name, func(t *testing.T, a asksOf) {
			ctx, cancel := context.WithCancelCause(t.Context())
			got := asking(ctx, a.h, `{}`)
			synctest.Wait()
			id := a.list()[0].ID
			cancel(tt.cause)
			assert.Equal(t, asked{approval.Reply{}, tt.cause}, <-got)
			assert.Empty(t, a.list())
			code, text := a.answer(id, approves)
			assert.Equal(t, http.StatusConflict, code)
			assert.Contains(t, text, tt.why)
		})
	}
	in("what was accepted counts", func(t *testing.T, a asksOf) {
		ctx, cancel := context.WithCancelCause(t.Context())
		got := asking(ctx, a.h, `{}`)
		synctest.Wait()
		code, _ := a.answer(a.list()[0].ID, approves)
		assert.Equal(t, http.StatusOK, code)
		cancel(approval.ErrTimeout)
		assert.NoError(t, (<-got).err)
	})
	in("who has seen the event finds the ask", func(t *testing.T, a asksOf) {
		a.h.OnEvent(t.Context(), told(event.ApprovalAsked))
		found := make(chan []wire.Ask, 1)
		go func() { found <- a.list() }()
		synctest.Wait()
		assert.Empty(t, found, "it is waited for")
		ctx, cancel := context.WithCancel(t.Context())
		got := asking(ctx, a.h, `{}`)
		assert.Len(t, <-found, 1)
		a.h.OnEvent(t.Context(), told(event.ApprovalAsked)) // told late
		assert.Len(t, a.list(), 1)
		cancel()
		<-got
	})
	in("nobody is asked", func(t *testing.T, a asksOf) {
		for _, kind := range []hook.EventKind{event.ApprovalGiven, event.TurnEnd} {
			a.h.OnEvent(t.Context(), told(event.ApprovalAsked))
			found, begun := make(chan []wire.Ask, 1), time.Now()
			go func() { found <- a.list() }()
			synctest.Wait()
			a.h.OnEvent(t.Context(), told(kind))
			assert.Empty(t, <-found)
			assert.Zero(t, time.Since(begun), "who lists does not wait for what does not come")
		}
		a.h.OnEvent(t.Context(), told(event.ApprovalAsked))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begun := time.Now()
		assert.Empty(t, a.listWith(ctx))
		assert.Equal(t, time.Hour, time.Since(begun), "as long as the client waits")
	})
}

// TestAsksRemember: what a client lets the daemon remember is not asked again, is
// in a file, and holds after a restart.
func TestAsksRemember(t *testing.T) {
	t.Parallel()
	project, rules := t.TempDir(), filepath.Join(t.TempDir(), "approvals")
	w := newWorld(t, &worldOptions{approval: approval.Options{Dir: rules, Project: project}})
	ctx, conv := t.Context(), w.conversation("ann")
	run := func(text string, answer func(asks []wire.Ask) wire.Answer) (by, end string) {
		turn, err := w.client.Send(ctx, conv.ID, text)
		require.NoError(t, err)
		for _, ev := range w.follow(turn, func(ev hook.Event) {
			if ev.Kind != event.ApprovalAsked {
				return
			}
			asks, err := w.client.Asks(ctx, conv.ID)
			require.NoError(t, err)
			if len(asks) > 0 {
				require.NoError(t, w.client.Answer(ctx, asks[0].ID, answer(asks)))
			}
		}) {
			if ev.Kind == event.ApprovalGiven {
				by = ev.Detail().By
			}
			end = ev.Text
		}
		return by, end
	}
	nobody := func([]wire.Ask) wire.Answer {
		assert.Fail(t, "somebody was asked")
		return wire.Answer{Answer: wire.AnswerRefuse}
	}
	by, end := run(`call danger {"s":"x"}`, func(asks []wire.Ask) wire.Answer {
		assert.Equal(t, []wire.Offer{
			{ID: "call-conversation", Text: "exactly this call of danger, in this conversation and the tasks that it hands out"},
			{ID: "call-agent", Text: "exactly this call of danger, by the agent helper in this project, until it is forgotten"},
			{ID: "call-project", Text: "exactly this call of danger, by every agent in this project, until it is forgotten"},
		}, asks[0].Offers)
		return wire.Answer{Answer: wire.AnswerApprove, Remember: "call-agent", By: "ann"}
	})
	assert.Equal(t, []string{"Approval.ann", "it answered: done x"}, []string{by, end})
	by, end = run(`call danger {"s":"x"}`, nobody)
	assert.Equal(t, []string{"Approval.rule", "it answered: done x"}, []string{by, end})
	by, _ = run(`call danger {"s":"y"}`, func([]wire.Ask) wire.Answer {
		return wire.Answer{Answer: wire.AnswerRefuse, Reason: "never y", Remember: "call-project"}
	})
	assert.Equal(t, "Approval.api", by)

	w.end()
	w.start()
	conv = w.conversation("bob")
	by, _ = run(`call danger {"s":"x"}`, nobody)
	assert.Equal(t, "Approval.rule", by)
	by, end = run(`call danger {"s":"y"}`, nobody)
	assert.Equal(t, []string{"Approval.rule", "it answered: never y"}, []string{by, end})
	names, err := os.ReadDir(rules)
	require.NoError(t, err)
	assert.Len(t, names, 2)
}

// TestAsksTimeOut: the call is refused, or approved where that was asked for, and
// everybody is told.
func TestAsksTimeOut(t *testing.T) {
	t.Parallel()
	for action, end := range map[approval.TimeoutAction]string{
		approval.RefuseOnTimeout:  "it answered: Nobody answered within 1ms.",
		approval.ApproveOnTimeout: "it answered: done x",
	} {
		w := newWorld(t, &worldOptions{approval: approval.Options{Timeout: time.Millisecond, OnTimeout: action}})
		events := w.turn(w.conversation("ann").ID, `call danger {"s":"x"}`)
		assert.Equal(t, end, last(t, events).Text)
		late := only(events, event.ApprovalTimedOut)
		require.Len(t, late, 1)
		assert.Contains(t, late[0].Text, "nobody answered within 1ms: the call is ")
		given := only(events, event.ApprovalGiven)
		require.Len(t, given, 1)
		assert.Equal(t, "Approval.timeout", given[0].Detail().By)
		assert.Equal(t, late[0].Detail().Answer, given[0].Detail().Answer)
		assert.Equal(t, late[0].Seq+1, given[0].Seq)
	}
}

// TestManyAsks: sixty-four conversations ask at once, and each gets its own answer
// from clients that answer in no order; one of them has gone before that.
func TestManyAsks(t *testing.T) {
	t.Parallel()
	const n = 64
	w := newWorld(t, nil)
	ctx := t.Context()
	var turns sync.WaitGroup
	ends := make([]string, n)
	for i := range n {
		conv, err := w.direct.Conversation(ctx, "helper", fmt.Sprint("ann", i))
		require.NoError(t, err)
		turn, err := w.direct.Send(ctx, conv.ID, fmt.Sprintf(`call danger {"s":"%d"}`, i))
		require.NoError(t, err)
		turns.Go(func() {
			for item, err := range w.direct.Follow(ctx, turn) {
				if !assert.NoError(t, err) {
					return
				}
				if i == 0 && item.Event.Kind == event.ApprovalAsked {
					break // this client vanishes, and its ask stays
				}
				ends[i] = item.Event.Text
			}
		})
	}
	var asks []wire.Ask
	require.Eventually(t, func() bool {
		var err error
		asks, err = w.direct.Asks(ctx, "")
		return assert.NoError(t, err) && len(asks) == n
	}, 20*time.Second, time.Millisecond)
	var answering sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for range 2 { // two clients answer all of them
		answering.Go(func() {
			for _, ask := range asks {
				err := w.direct.Answer(ctx, ask.ID, wire.Answer{Answer: wire.AnswerRefuse, Reason: "no to " + string(ask.Args)})
				if err != nil {
					assert.Equal(t, wire.CodeAnswered, client.CodeOf(err))
					mu.Lock()
					refused++
					mu.Unlock()
				}
			}
		})
	}
	answering.Wait()
	turns.Wait()
	assert.Equal(t, n, refused, "one answer to each")
	for i, end := range ends[1:] {
		assert.Equal(t, fmt.Sprintf(`it answered: no to {"s":"%d"}`, i+1), end)
	}
	require.Eventually(t, func() bool {
		health, err := w.direct.Health(ctx)
		return assert.NoError(t, err) && health.Turns == 0
	}, 20*time.Second, time.Millisecond)
	assert.Empty(t, w.box.ran)
}
