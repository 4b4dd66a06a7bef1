package turns_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// A turn whose process dies between its last message and its end has the end that it was
// about to have.

// saidHalf reports whether the append has the answer of these tests.
func saidHalf(a store.Append) bool {
	n := a.Messages.Len()
	return n > 0 && a.Messages.At(n-1).Text() == "half"
}

// cutShort is a store in which the turn's last message was the last thing that was
// stored.
func cutShort(t *testing.T, cfg hook.AgentConfig, stream func(w *rig.World) message.ModelStream, end func(w *rig.World, cancel func())) *mortal {
	t.Helper()
	var w *rig.World
	m := rig.Plays(func(yield func(message.Chunk, error) bool) { stream(w)(yield) })
	first, s := bootOver(t, nil, m)
	w = first
	s.last = saidHalf
	if cfg.Limits != (hook.Limits{}) {
		_, err := w.Runtime.Register(t.Context(), cfg)
		require.NoError(t, err)
		w.Conv, err = dialog.Conversation(t.Context(), w.Runtime, cfg.Name, "ann")
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go end(w, cancel)
	_, _ = dialog.Send(ctx, w.Conv, message.TextInput("1"), nil)
	require.True(t, s.dead.Load())
	return s
}

// half says half an answer and then waits until the turn is cancelled.
func half(reached chan struct{}) func(w *rig.World) message.ModelStream {
	return func(*rig.World) message.ModelStream {
		return func(yield func(message.Chunk, error) bool) {
			for said := yield(rig.Text("half"), nil); said; said = yield(message.Chunk{Kind: message.ChunkText}, nil) {
				select {
				case reached <- struct{}{}:
				default:
				}
				time.Sleep(time.Millisecond)
			}
		}
	}
}

func TestSpecHalfAnAnswerIsNeverAWholeOne(t *testing.T) {
	t.Parallel()
	finishing := func(r message.FinishReason) func(*rig.World) message.ModelStream {
		return func(*rig.World) message.ModelStream { return rig.Chunks(rig.Text("half"), rig.Finish(r)) }
	}
	tests := map[string]struct {
		cfg     hook.AgentConfig
		stream  func(reached chan struct{}) func(*rig.World) message.ModelStream
		end     func(w *rig.World, cancel func())
		stop    hook.StopReason
		partial bool
	}{
		"cancelled": {stream: half, end: func(_ *rig.World, cancel func()) { cancel() }, stop: hook.StopCancelled, partial: true},
		"stopped":   {stream: half, end: func(w *rig.World, _ func()) { dialog.Stop(w.Conv) }, stop: hook.StopUserRequested, partial: true},
		"out of time": {
			cfg: hook.AgentConfig{Name: "b", Limits: hook.Limits{Time: 50 * time.Millisecond}}, stream: half,
			end: func(*rig.World, func()) {}, stop: hook.StopTimeLimit, partial: true,
		},
		"out of tokens": {
			stream: func(reached chan struct{}) func(*rig.World) message.ModelStream {
				close(reached)
				return finishing(message.FinishLength)
			},
			end: func(*rig.World, func()) {}, stop: hook.StopMaxTokens,
		},
		"filtered": {
			stream: func(reached chan struct{}) func(*rig.World) message.ModelStream {
				close(reached)
				return finishing(message.FinishFilter)
			},
			end: func(*rig.World, func()) {}, stop: hook.StopRefused,
		},
	}
	for name, test := range tests {
		for _, resume := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", resumed", false: ", settled"}[resume], func(t *testing.T) {
				t.Parallel()
				reached := make(chan struct{}, 1) // the model may say it before anybody waits
				s := cutShort(t, test.cfg, test.stream(reached), func(w *rig.World, cancel func()) { <-reached; test.end(w, cancel) })
				m := rig.Plays(rig.Says("next"))
				w, s := bootOver(t, s, m)
				if test.cfg.Name != "" {
					_, err := w.Runtime.Register(t.Context(), test.cfg)
					require.NoError(t, err)
					w.Conv, err = dialog.Conversation(t.Context(), w.Runtime, test.cfg.Name, "ann")
					require.NoError(t, err)
				}
				if resume {
					out, err := dialog.Resume(t.Context(), w.Conv, nil)
					assert.Equal(t, test.stop, out.Stop)
					assert.Equal(t, test.stop == hook.StopUserRequested, errors.Is(err, runtime.ErrStopped))
					assert.Equal(t, "half", out.Text())
					assert.Empty(t, m.Requests, "the turn has had its end, and goes on with nothing")
				} else {
					w.Send("2")
				}
				events, err := s.Events(t.Context(), w.Conv.ID(), 0, 1000)
				require.NoError(t, err)
				var ends []hook.StopReason
				for _, e := range events {
					var ev hook.Event
					require.NoError(t, json.Unmarshal([]byte(e.Data), &ev))
					if ev.Kind == event.TurnEnd {
						ends = append(ends, ev.Detail().Stop)
					}
				}
				assert.Equal(t, test.stop, ends[0], "as everybody hears it")
				ms, err := s.Messages(t.Context(), w.Conv.ID())
				require.NoError(t, err)
				assert.Equal(t, test.partial, ms[1].Partial, "%v", ms[1])
			})
		}
	}
}

// Also without the end: the message alone says that it is half an answer.
func TestSpecHalfAnAnswerIsKnownByItself(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{})
	s := cutShort(t, hook.AgentConfig{}, half(reached), func(w *rig.World, cancel func()) { <-reached; cancel() })
	forgetful := &endless{s}
	o := &runtime.Options{Store: forgetful, Gone: func(string) bool { return true }}
	w := rig.StartWith(t, rig.Plays(rig.Says("next")), hook.AgentConfig{Name: "a"}, o)
	s.dead.Store(false)
	out, err := dialog.Resume(t.Context(), w.Conv, nil)
	require.Error(t, err)
	assert.Equal(t, hook.StopCancelled, out.Stop)
	assert.Empty(t, w.Model.Requests)
}

// endless is a store that has lost how turns end.
type endless struct{ *mortal }

func (s *endless) Journal(ctx context.Context, id string) ([]store.Entry, error) {
	entries, err := s.mortal.Journal(ctx, id)
	var left []store.Entry
	for _, e := range entries {
		if e.Kind != store.EntryEnd {
			left = append(left, e)
		}
	}
	return left, err
}

// A turn whose cancellation was noted is not resumed, whatever it was doing.
func TestSpecACancelledTurnIsNotResumed(t *testing.T) {
	t.Parallel()
	judging := make(chan struct{})
	var s *mortal
	dies := func(context.Context, *hook.Step, message.ModelReply) (hook.ReplyDecision, error) {
		s.dead.Store(true) // while hooks look at the half answer
		close(judging)
		return hook.ReplyDecision{}, nil
	}
	w, first := bootOver(t, nil, rig.Plays(half(make(chan struct{}, 1))(nil)), point.AfterModelFunc(dies))
	s = first
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := dialog.Send(ctx, w.Conv, message.TextInput("1"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
			if ev.Kind == event.TextDelta {
				cancel()
			}
		}})
		ended <- err
	}()
	<-judging
	require.Error(t, <-ended)
	m := rig.Plays(rig.Says("a whole answer"))
	w, _ = bootOver(t, s, m)
	out, err := dialog.Resume(t.Context(), w.Conv, nil)
	require.Error(t, err)
	assert.Equal(t, hook.StopCancelled, out.Stop)
	assert.Empty(t, m.Requests)
	assert.Equal(t, []string{"user 1"}, w.History())
}
