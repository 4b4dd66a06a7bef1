package client_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// TestAnAnswerWithoutEndIsRefused: a server that is not what it seems does not take the client's memory.
func TestAnAnswerWithoutEndIsRefused(t *testing.T) {
	needs.Time(t)
	const most = 384
	var sent atomic.Int64 // MiB
	text := bytes.Repeat([]byte("a"), 1<<20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"conversations":[{"id":"`))
		for range most {
			if _, err := w.Write(text); err != nil {
				return
			}
			sent.Add(1)
		}
	}))
	defer server.Close()
	_, err := client.New(server.URL, &client.Options{Token: "grapnel_aaaaaaaaaa_bbbbbbbbbbbbbbbbbbbbbbbbbb"}).Conversations(t.Context())
	require.Error(t, err)
	assert.Less(t, sent.Load(), int64(most), "MiB that the client read of one answer")
}
