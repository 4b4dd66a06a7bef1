package fallback_test

import (
	"context"
	"errors"
	"flag"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/subsystems/fallback"
)

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestConformance(t *testing.T) {
	t.Parallel()
	hooktest.Run(t, func(*testing.T) hook.Hook { return fallback.New(nil) }, &hooktest.Options{
		Agent:  hook.AgentConfig{}.WithSection("fallback", `{"models":["b"],"tries":3,"max_wait":"10s"}`),
		Golden: "testdata/descriptor.txt", Update: *update,
	})
}

// vendor fails the calls of each model with its errors, in order, and then answers.
type vendor struct {
	fails map[string][]error
	// always fails each call of these models.
	always map[string]error
	asked  []string
	at     []time.Duration
	began  time.Time
}

func (v *vendor) Stream(_ context.Context, req message.ModelRequest) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		v.asked, v.at = append(v.asked, req.Model.Name), append(v.at, time.Since(v.began))
		err := v.always[req.Model.Name]
		if left := v.fails[req.Model.Name]; err == nil && len(left) > 0 {
			err, v.fails[req.Model.Name] = left[0], left[1:]
		}
		if err != nil {
			yield(message.Chunk{}, err)
			return
		}
		yield(message.Chunk{Kind: message.ChunkText, Text: "I am " + req.Model.Name}, nil)
		yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop}, nil)
	}
}

func failure(class message.FailureClass, after time.Duration) error {
	return &provider.Error{Class: class, RetryAfter: after, Err: errors.New("the vendor says " + string(class))}
}

// talk is a conversation with model "a" and the options; half of each pause is waited.
type talk struct {
	t      *testing.T
	vendor *vendor
	rt     *runtime.Runtime
	conv   *runtime.Conversation
	events []hook.Event
}

func newTalk(t *testing.T, v *vendor, o fallback.Options, cfg hook.AgentConfig) *talk {
	t.Helper()
	o.Random = func() float64 { return 0.5 }
	v.began = time.Now()
	rt := runtime.New(fallback.New(&o), v, nil)
	require.NoError(t, rt.Open(t.Context()))
	cfg.Name, cfg.Model.Name = "x", "a"
	agent, err := rt.Register(t.Context(), cfg)
	require.NoError(t, err)
	conv, err := agent.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	return &talk{t: t, vendor: v, rt: rt, conv: conv}
}

func (w *talk) send(text string) (hook.TurnOutcome, error) {
	w.t.Helper()
	out, err := w.conv.Send(w.t.Context(), message.TextInput(text), &runtime.TurnOptions{Observe: func(ev hook.Event) { w.events = append(w.events, ev) }})
	require.NoError(w.t, err)
	return out, out.Err
}

func (w *talk) of(kind hook.EventKind) (out []hook.Event) {
	for _, ev := range w.events {
		if ev.Kind == kind {
			out = append(out, ev)
		}
	}
	return out
}

// within runs a test on a clock of its own.
func within(t *testing.T, v *vendor, o fallback.Options, cfg hook.AgentConfig, test func(t *testing.T, w *talk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newTalk(t, v, o, cfg)
		test(t, w)
		require.NoError(t, w.rt.Close(t.Context()))
	})
}

func TestEachClassHasItsRule(t *testing.T) {
	t.Parallel()
	for class, tries := range map[message.FailureClass]int{
		message.FailureRateLimit: 5, message.FailureOverloaded: 5, message.FailureServer: 5, message.FailureNetwork: 5, message.FailureProtocol: 5,
		message.FailureTimeout: 2,
		message.FailureContext: 1, message.FailureAuth: 1, message.FailureRequest: 1, message.FailureContent: 1, message.FailureTooLarge: 1, message.FailureUnknown: 1,
	} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			v := &vendor{always: map[string]error{"a": failure(class, 0)}}
			within(t, v, fallback.Options{}, hook.AgentConfig{}, func(t *testing.T, w *talk) {
				_, err := w.send("hi")
				require.ErrorContains(t, err, "the vendor says "+string(class))
				assert.Len(t, v.asked, tries)
				assert.Len(t, w.of(event.TurnRetried), tries-1)
				if tries > 1 {
					assert.ErrorContains(t, err, "after "+string(rune('0'+tries))+" tries in")
				}
			})
			elsewhere := map[string]error{"a": failure(class, 0)}
			within(t, &vendor{always: elsewhere}, fallback.Options{Models: []string{"b"}}, hook.AgentConfig{}, func(t *testing.T, w *talk) {
				out, err := w.send("hi")
				if class.Passing() || class == message.FailureAuth {
					require.NoError(t, err)
					assert.Equal(t, "I am b", out.Text())
					return
				}
				assert.Error(t, err, "another model would refuse that, too")
			})
		})
	}
}

func TestPausesGrowAndAreRandom(t *testing.T) {
	t.Parallel()
	v := &vendor{always: map[string]error{"a": failure(message.FailureServer, 0)}}
	within(t, v, fallback.Options{}, hook.AgentConfig{}, func(t *testing.T, w *talk) {
		_, err := w.send("hi")
		require.Error(t, err)
		assert.Equal(t, []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second}, v.at, "half of 2, 4, 8 and 16 seconds")
		retried := w.of(event.TurnRetried)
		assert.Equal(t, 8*time.Second, retried[3].Detail().Duration, "the person is told how long")
		assert.Equal(t, "the vendor says server", retried[3].Text)
	})
}

func TestRetryAfterIsAMinimumUpToABound(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		after time.Duration
		at    []time.Duration
		says  string
	}{
		{10 * time.Second, []time.Duration{0, 11 * time.Second}, ""},
		{time.Minute, []time.Duration{0, time.Minute}, ""},
		{61 * time.Second, []time.Duration{0}, "wants to be left alone for 1m1s, and the limit is 1m0s"},
		{24 * time.Hour, []time.Duration{0}, "wants to be left alone for 24h0m0s"},
	} {
		v := &vendor{fails: map[string][]error{"a": {failure(message.FailureRateLimit, tc.after)}}}
		within(t, v, fallback.Options{}, hook.AgentConfig{}, func(t *testing.T, w *talk) {
			_, err := w.send("hi")
			assert.Equal(t, tc.says == "", err == nil)
			assert.Equal(t, tc.at, v.at)
			if tc.says != "" {
				assert.Contains(t, w.of(event.Diagnostic)[0].Text, tc.says)
			}
		})
	}
}

func TestItDoesNotWaitBeyondTheTurn(t *testing.T) {
	t.Parallel()
	v := &vendor{always: map[string]error{"a": failure(message.FailureServer, 0)}}
	within(t, v, fallback.Options{}, hook.AgentConfig{Limits: hook.Limits{Time: 5 * time.Second}}, func(t *testing.T, w *talk) {
		_, err := w.send("hi")
		require.ErrorContains(t, err, "the vendor says server", "and not that the time is over")
		assert.Equal(t, []time.Duration{0, time.Second, 3 * time.Second}, v.at)
		assert.Contains(t, w.of(event.Diagnostic)[0].Text, "longer than what the turn has left")
	})
}

func TestModelsFollowEachOther(t *testing.T) {
	t.Parallel()
	down := failure(message.FailureOverloaded, 0)
	v := &vendor{always: map[string]error{"a": down, "b": failure(message.FailureAuth, 0)}}
	within(t, v, fallback.Options{Tries: 2}, hook.AgentConfig{}.WithSection("fallback", `{"models":["b","c"]}`), func(t *testing.T, w *talk) {
		out, err := w.send("hi")
		require.NoError(t, err)
		assert.Equal(t, "I am c", out.Text())
		assert.Equal(t, []string{"a", "a", "b", "c"}, v.asked)
		assert.Equal(t, "the vendor says overloaded; asking b instead", w.of(event.TurnRetried)[1].Text)
		v.always["c"] = down
		_, err = w.send("again")
		require.ErrorContains(t, err, "overloaded")
		assert.ErrorContains(t, err, "after 5 tries")
		assert.Equal(t, []string{"a", "a", "b", "c", "c"}, v.asked[4:])
	})
}

func TestTheBreakerLeavesAFailingModelOut(t *testing.T) {
	t.Parallel()
	v := &vendor{always: map[string]error{"a": failure(message.FailureOverloaded, 0)}}
	within(t, v, fallback.Options{Models: []string{"b"}, Failures: 5}, hook.AgentConfig{}, func(t *testing.T, w *talk) {
		for range 2 {
			out, err := w.send("hi")
			require.NoError(t, err)
			assert.Equal(t, "I am b", out.Text())
		}
		assert.Equal(t, []string{"a", "a", "a", "a", "a", "b", "b"}, v.asked, "the second turn does not ask a")
		assert.Contains(t, w.of(event.Diagnostic)[0].Text, "a has failed too often lately; asking b")
		time.Sleep(fallback.DefaultOpenFor)
		_, err := w.send("still down?")
		require.NoError(t, err)
		assert.Equal(t, []string{"a", "b"}, v.asked[7:9], "one failure opens it again")
		v.always, v.asked = nil, nil
		time.Sleep(fallback.DefaultOpenFor)
		for range 2 {
			out, err := w.send("back?")
			require.NoError(t, err)
			assert.Equal(t, "I am a", out.Text())
		}
	})
}

// Without another model an open breaker changes nothing.
func TestTheOnlyModelIsAlwaysAsked(t *testing.T) {
	t.Parallel()
	v := &vendor{always: map[string]error{"a": failure(message.FailureServer, 0)}}
	within(t, v, fallback.Options{Failures: 2}, hook.AgentConfig{}, func(t *testing.T, w *talk) {
		for range 3 {
			_, err := w.send("hi")
			require.Error(t, err)
		}
		assert.Len(t, v.asked, 15)
	})
}

func TestEachStepHasItsTries(t *testing.T) {
	t.Parallel()
	v := &vendor{fails: map[string][]error{"a": {failure(message.FailureServer, 0), failure(message.FailureServer, 0)}}}
	within(t, v, fallback.Options{Tries: 3}, hook.AgentConfig{}, func(t *testing.T, w *talk) {
		_, err := w.send("hi")
		require.NoError(t, err)
		v.fails["a"] = []error{failure(message.FailureServer, 0), failure(message.FailureServer, 0)}
		_, err = w.send("hi")
		require.NoError(t, err)
	})
}

func TestSectionMistakes(t *testing.T) {
	t.Parallel()
	f := fallback.New(nil)
	for section, says := range map[message.JSON]string{
		`{"models":["a","b","c","d","e"]}`: "models: 5 models; write at most 4",
		`{"models":[""]}`:                  "models: an empty name",
		`{"tries":11}`:                     "tries: 11; write a number from 1 to 10",
		`{"tries":-1}`:                     "tries: -1",
		`{"max_wait":"soon"}`:              `max_wait: "soon" is no time; write for example 30s`,
		`{"max_wait":"-1s"}`:               `max_wait: "-1s" is no time`,
		`{"wait":"1s"}`:                    "wait",
	} {
		cfg := hook.AgentConfig{Name: "x"}.WithSection("fallback", section)
		err := f.OnRegisterAgent(t.Context(), &cfg)
		require.ErrorContains(t, err, says)
		assert.True(t, strings.HasPrefix(err.Error(), `agent "x": section fallback: `), err)
	}
}
