package wire_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// dripping is a body that sends one more piece before any timeout, for ever.
type dripping struct {
	ctx   context.Context
	piece string
	every time.Duration
}

func (d dripping) Read(b []byte) (int, error) {
	select {
	case <-time.After(d.every):
		return copy(b, d.piece), nil
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
}

// drips answers with the text, and then with the piece again and again.
func drips(status int, text, piece string, every time.Duration) trip {
	return func(r *http.Request) (*http.Response, error) {
		return responds(status, "text/event-stream", io.MultiReader(strings.NewReader(text), dripping{r.Context(), piece, every}))(r)
	}
}

// TestTheWordsOfAnErrorHaveATime: a server that drips its refusal keeps nobody waiting.
func TestTheWordsOfAnErrorHaveATime(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"text/event-stream", "text/plain"} {
		synctest.Test(t, func(t *testing.T) {
			status := map[string]int{"text/event-stream": 500, "text/plain": 200}[kind]
			tr := func(r *http.Request) (*http.Response, error) {
				return responds(status, kind, io.MultiReader(strings.NewReader("why "), dripping{r.Context(), " ", time.Second}))(r)
			}
			begin := time.Now()
			s := serverOf(t, tr, nil)
			_, err := s.Open(t.Context(), s.URL("chat"), nil)
			require.ErrorContains(t, err, "why")
			assert.NotErrorIs(t, err, provider.ErrTimeout)
			assert.Equal(t, 10*time.Second, time.Since(begin))
		})
	}
}

// TestTheRestOfAnAnswerHasATime: comments do not keep an answer open whose finish has come.
func TestTheRestOfAnAnswerHasATime(t *testing.T) {
	t.Parallel()
	next := func(t *testing.T, st *wire.Stream) sse.Event {
		t.Helper()
		ev, err := st.Next()
		require.NoError(t, err)
		return ev
	}
	synctest.Test(t, func(t *testing.T) {
		s := serverOf(t, drips(200, "data: {}\n\n", ": x\n", time.Second), nil)
		st, err := s.Open(t.Context(), s.URL("chat"), nil)
		require.NoError(t, err)
		defer st.Close()
		next(t, st)
		begin := time.Now()
		st.Finishing(true)
		_, err = st.Next()
		assert.True(t, st.Lost(err), "%v", err)
		assert.Equal(t, 5*time.Second, time.Since(begin))
	})
	synctest.Test(t, func(t *testing.T) { // more follows: it was not the finish
		s := serverOf(t, drips(200, "data: {}\n\n", "data: {}\n\n", 3*time.Second), nil)
		st, err := s.Open(t.Context(), s.URL("chat"), nil)
		require.NoError(t, err)
		defer st.Close()
		for i := range 5 {
			next(t, st)
			st.Finishing(i%2 == 0)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the connection is given up
		s := serverOf(t, drips(200, "data: {}\n\n", ": x\n", 40*time.Millisecond), nil)
		st, err := s.Open(t.Context(), s.URL("chat"), nil)
		require.NoError(t, err)
		defer st.Close()
		next(t, st)
		begin := time.Now()
		st.Drain()
		assert.Equal(t, 50*time.Millisecond, time.Since(begin))
	})
}
