package wire_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary is a key that may appear nowhere but in the request.
const canary = "sk-canary-0123456789"

// trip is a transport that answers without any network.
type trip func(*http.Request) (*http.Response, error)

func (s trip) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// responds answers with a status, a content type and a body.
func responds(status int, kind string, body io.Reader) trip {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}}, Request: r, Body: io.NopCloser(body)}, nil
	}
}

// streams answers with a stream of events.
func streams(text string) trip { return responds(200, "text/event-stream", strings.NewReader(text)) }

// serverOf returns a server behind the transport; change may be nil.
func serverOf(t testing.TB, tr trip, change func(*wire.Config)) *wire.Server {
	t.Helper()
	c := wire.Config{Vendor: "acme", Env: "ACME", BaseURL: "http://model.test/v1", Key: canary, KeyHeader: "x-api-key",
		Network: provider.Network{Client: &http.Client{Transport: tr}}}
	if change != nil {
		change(&c)
	}
	s, err := wire.NewServer(c)
	require.NoError(t, err)
	return s
}
