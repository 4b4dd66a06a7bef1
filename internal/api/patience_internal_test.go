package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/monitor"
)

// Bodies of all requests together are bounded, and count until their requests are answered.
func TestManyBodies(t *testing.T) {
	t.Parallel()
	s := &Server{}
	send := func(space int) (*httptest.ResponseRecorder, error) {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"level":"info"`+strings.Repeat(" ", space)+`}`))
		r.Header.Set("Content-Type", "application/json")
		defer s.awaitBody(w, r)()
		_, err := readJSON[wire.LogLevel](w, r)
		return w, err
	}
	_, err := send(2 * small)
	assert.NoError(t, err)
	assert.Zero(t, s.bodies.Load())
	s.bodies.Store(maxBodies)
	_, err = send(0)
	assert.NoError(t, err, "who answers an ask is not kept from it")
	w, err := send(2 * small)
	assert.Equal(t, http.StatusTooManyRequests, failureOf(err).status)
	assert.Equal(t, "1", w.Header().Get("Retry-After"))
	assert.EqualValues(t, maxBodies, s.bodies.Load())
}

// TestABodyThatWasDroppedDoesNotCount for as long as its request is answered: a stream may take days.
func TestABodyThatWasDroppedDoesNotCount(t *testing.T) {
	t.Parallel()
	for _, handed := range []bool{false, true} {
		s, owner := &Server{}, &Server{}
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", strings.NewReader(strings.Repeat("x", maxBody)))
		done := s.awaitBody(w, r)
		if handed {
			defer owner.awaitBody(w, r)()
		}
		assert.NoError(t, drain(w, r))
		assert.Zero(t, s.bodies.Load())
		assert.Zero(t, owner.bodies.Load())
		done()
		assert.Zero(t, s.bodies.Load())
	}
}

// TestFewLongAnswersAreBuiltAtATime: each is whole in memory before it counts.
func TestFewLongAnswersAreBuiltAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Server{building: make(chan struct{}, builders)}
		var most, now atomic.Int64
		var all sync.WaitGroup
		for range 5 * builders {
			all.Go(func() {
				_, err := s.build(t.Context(), func(*bytes.Buffer) error {
					most.Store(max(most.Load(), now.Add(1)))
					time.Sleep(time.Second)
					now.Add(-1)
					return errors.New("the disk is full")
				})
				assert.EqualError(t, err, "the disk is full")
			})
		}
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := s.build(ctx, func(*bytes.Buffer) error { return nil })
		assert.ErrorIs(t, err, context.DeadlineExceeded, "who goes away waits no longer")
		all.Wait()
		assert.EqualValues(t, builders, most.Load())
	})
}

// TestAnswersOfAllOwnersAreBoundedTogether: those of an owner's server count for the daemon that let the request in.
func TestAnswersOfAllOwnersAreBoundedTogether(t *testing.T) {
	t.Parallel()
	server := func(tenants Tenants) *Server {
		s := &Server{mux: http.NewServeMux(), o: Options{Tenants: &tenants, Monitor: monitor.New(nil), Mask: func(text string) string { return text }}}
		s.mux.HandleFunc("/", s.guarded(operation{access.Read, func(w http.ResponseWriter, _ *http.Request) error {
			done, err := hold(w, 2*small)
			if err == nil {
				done()
			}
			return err
		}}))
		return s
	}
	alices := server(Tenants{Owner: "alice"})
	s := server(Tenants{Server: func(context.Context, string) (*Server, func(), error) { return alices, func() {}, nil }})
	ask := func() int {
		w, who := httptest.NewRecorder(), access.Caller{Name: "t", Owner: "alice", Scopes: access.All()}
		s.serve(w, httptest.NewRequest(http.MethodGet, "/", nil), func() (visit, error) { return visit{handed: true, caller: who}, nil })
		return w.Code
	}
	assert.Equal(t, http.StatusOK, ask())
	s.bodies.Store(maxBodies)
	assert.Equal(t, http.StatusTooManyRequests, ask())
	assert.EqualValues(t, maxBodies, s.bodies.Load())
}
