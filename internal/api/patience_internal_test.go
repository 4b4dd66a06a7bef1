package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/client/wire"
)

// Bodies of all requests together are bounded, and count until their requests are answered.
func TestManyBodies(t *testing.T) {
	t.Parallel()
	s := &Server{}
	send := func() (*httptest.ResponseRecorder, error) {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"level":"info"}`))
		r.Header.Set("Content-Type", "application/json")
		defer s.awaitBody(w, r)()
		_, err := readJSON[wire.LogLevel](w, r)
		return w, err
	}
	_, err := send()
	assert.NoError(t, err)
	assert.Zero(t, s.bodies.Load())
	s.bodies.Store(maxBodies)
	w, err := send()
	assert.Equal(t, http.StatusTooManyRequests, failureOf(err).status)
	assert.Equal(t, "1", w.Header().Get("Retry-After"))
	assert.EqualValues(t, maxBodies, s.bodies.Load())
}
