package openai_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// patient is the files with a hook that asks again after what may pass, unless the
// server wants to be left alone for too long.
type patient struct {
	files
	seen []message.ModelFailure
	// waited is what the pauses have to add up to.
	waited time.Duration
	rand   *rand.Rand
}

func (p *patient) OnModelError(_ context.Context, _ *hook.Step, f message.ModelFailure) (hook.FailureDecision, error) {
	p.seen = append(p.seen, f)
	if !f.Class.Passing() || f.RetryAfter > time.Minute || f.Attempt > 3 {
		return hook.FailureDecision{}, nil
	}
	pause := time.Duration(1+p.rand.IntN(1000)) * time.Millisecond << f.Attempt // with jitter
	p.waited += max(pause, f.RetryAfter)
	return hook.RetryFailure(pause), nil
}

// Whatever becomes of up to four attempts at an answer, the turn ends with the whole
// answer or with an error: nothing of a damaged one is stored or run, and the pauses
// are those that hook and server want.
func TestDamagedAnswersAreAskedForAgain(t *testing.T) {
	t.Parallel()
	const wire = `data: {"choices":[{"index":0,"delta":{"content":"I look — there"},"finish_reason":null}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"path\":\"a.go\"}"}}]},"finish_reason":null}]}` + "\n\n" +
		`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n" + done
	for _, tox := range toxics() {
		t.Run(tox.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(50) {
				synctest.Test(t, func(t *testing.T) { asksAgain(t, tox, wire, rand.New(rand.NewPCG(seed, 17))) })
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

func asksAgain(t *testing.T, tox toxic, wire string, r *rand.Rand) {
	damaged, asked := 1+r.IntN(4), 0
	s := server(func(req *http.Request) (*http.Response, error) {
		switch asked++; {
		case asked <= damaged && !(tox.whole && asked > 1):
			return tox.apply(r, wire)(req)
		case asked == damaged+1 && !tox.whole:
			return serves(strings.NewReader(wire))(req)
		}
		return serves(strings.NewReader(says("done") + whole))(req)
	})
	h := &patient{rand: r}
	w := startWith(t, asks(s, nil), h, &h.files)
	began := time.Now()
	out, err := w.send("go")
	assert.Equal(t, h.waited, time.Since(began), "it waits as long as hook and server want, and not once more")
	for _, f := range h.seen {
		assert.NotEqual(t, message.FailureUnknown, f.Class)
	}
	switch {
	case err == nil:
		assert.Equal(t, []string{"a.go"}, h.ran)
		assert.Equal(t, "done", out.Text())
		require.Len(t, w.history(), 4)
		assert.Contains(t, w.history()[1], "I look — there")
	default:
		assert.Empty(t, h.ran, "no call of a damaged answer runs")
		assert.Len(t, w.history(), 1, "and nothing of it is stored")
		hopeless := !h.seen[len(h.seen)-1].Class.Passing() || h.seen[0].RetryAfter > time.Minute
		assert.True(t, hopeless || damaged == 4 && strings.Contains(err.Error(), "after 4 tries"), "%v", err)
	}
	assert.LessOrEqual(t, asked, 5, "four attempts at the answer, one for what follows the call")
	require.NoError(t, w.rt.Close(t.Context()))
}

func TestOverTheNetworkAFailedCallIsMadeAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	p, _, _ := listens(t, func(w http.ResponseWriter, _ *http.Request) {
		switch asked.Add(1) {
		case 1:
			w.Header().Set("Retry-After-Ms", "30")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			streams(w, says("half of an "))
			panic(http.ErrAbortHandler)
		default:
			streams(w, says("all of it"), whole)
		}
	})
	h := &patient{rand: rand.New(rand.NewPCG(1, 1))}
	w := startWith(t, p, again{h}, &h.files)
	began := time.Now()
	out, err := w.send("go")
	require.NoError(t, err)
	assert.Equal(t, "all of it", out.Text())
	assert.GreaterOrEqual(t, time.Since(began), 30*time.Millisecond)
	require.Len(t, h.seen, 2)
	assert.Equal(t, message.FailureRateLimit, h.seen[0].Class)
	assert.Equal(t, 30*time.Millisecond, h.seen[0].RetryAfter)
	assert.False(t, h.seen[0].Released)
	assert.Equal(t, message.FailureNetwork, h.seen[1].Class)
	assert.True(t, h.seen[1].Released)
	assert.Equal(t, 2, h.seen[1].Attempt)
}

// again is patient without pauses of its own.
type again struct{ *patient }

func (a again) OnModelError(_ context.Context, _ *hook.Step, f message.ModelFailure) (hook.FailureDecision, error) {
	a.seen = append(a.seen, f)
	return hook.RetryFailure(0), nil
}
