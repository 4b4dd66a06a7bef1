package daemon_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/daemon"
)

// serve runs a daemon until the test ends.
func serve(t *testing.T, o daemon.Options) *client.Client {
	t.Helper()
	o.Socket = socket(t)
	d, err := daemon.Open(t.Context(), o)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-ended)
	})
	return client.New(o.Socket, nil)
}

// get asks a daemon for a path, as curl would.
func get(t *testing.T, c *client.Client, method, path, body string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, bytes.NewReader([]byte(body)))
	require.NoError(t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", c.Address())
	}}
	resp, err := transport.RoundTrip(req)
	require.NoError(t, err)
	defer func() { assert.NoError(t, resp.Body.Close()) }()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, data
}

// scraped are metrics as Prometheus reads them.
type scraped map[string]*dto.MetricFamily

func scrape(t *testing.T, c *client.Client) (scraped, string) {
	t.Helper()
	status, data := get(t, c, http.MethodGet, "/metrics", "")
	require.Equal(t, http.StatusOK, status, "%s", data)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(data))
	require.NoError(t, err, "%s", data)
	return families, string(data)
}

// value returns the figure of a name with labels, given as name and value in turn; 0 if there is none.
func (s scraped) value(name string, labels ...string) float64 {
	for _, m := range s[name].GetMetric() {
		has := map[string]string{}
		for _, l := range m.GetLabel() {
			has[l.GetName()] = l.GetValue()
		}
		fits := len(has) == len(labels)/2
		for i := 0; i < len(labels); i += 2 {
			fits = fits && has[labels[i]] == labels[i+1]
		}
		if fits {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return 0
}

// TestMetricsSayWhatTurnsDid: what Prometheus reads is what the events and the statistics of the turns say, and no more.
func TestMetricsSayWhatTurnsDid(t *testing.T) {
	t.Parallel()
	paths := project(t)
	script := "rules:\n- when: {step: 1}\n  calls: [{tool: read, args: {file_path: model.yaml}}, {tool: read, args: {file_path: secret-name.txt}}]\n- {when: always, say: Hi.}\n"
	require.NoError(t, os.WriteFile(filepath.Join(paths.Root, "model.yaml"), []byte(script), 0o600))
	c := serve(t, daemon.Options{App: app.Options{Paths: paths, Note: note}})
	conv, err := c.Conversation(t.Context(), "helper", "secret-sender")
	require.NoError(t, err)
	turn, err := c.Send(t.Context(), conv.ID, "secret words")
	require.NoError(t, err)
	var tokens [2]int64
	outcomes := map[string]float64{}
	for item, err := range c.Follow(t.Context(), turn) {
		require.NoError(t, err)
		switch d := item.Event.Detail(); item.Event.Kind {
		case event.Usage:
			tokens[0] += d.Usage.Input
			tokens[1] += d.Usage.Output
		case event.CallResult:
			outcomes[string(d.Outcome)]++
		}
	}
	require.Positive(t, tokens[0])
	require.Equal(t, map[string]float64{"executed": 1, "failed": 1}, outcomes)

	scrapes := 0.0
	got, text := scrape(t, c)
	for ; scrapes < 2000 && !strings.Contains(text, "\ngrapnel_turns_running 0\n"); scrapes++ { // a turn still runs for a moment after its end was told
		time.Sleep(10 * time.Millisecond)
		got, text = scrape(t, c)
	}
	require.Contains(t, text, "\ngrapnel_turns_running 0\n")
	scrapes++
	assert.Equal(t, 1.0, got.value("grapnel_turns_total", "agent", "helper", "stop", string(hook.StopCompleted)))
	assert.Equal(t, 1.0, got.value("grapnel_turn_seconds"))
	assert.Equal(t, float64(tokens[0]), got.value("grapnel_tokens_total", "agent", "helper", "kind", "input"))
	assert.Equal(t, float64(tokens[1]), got.value("grapnel_tokens_total", "agent", "helper", "kind", "output"))
	for outcome, n := range outcomes {
		assert.Equal(t, n, got.value("grapnel_tool_calls_total", "outcome", outcome), outcome)
	}
	assert.Equal(t, 1.0, got.value("grapnel_requests_total", "method", "POST", "route", "/v1/conversations/{id}/messages", "status", "202"))
	assert.Positive(t, got.value("go_goroutines"))
	assert.NotContains(t, text, "secret")
	assert.NotContains(t, text, conv.ID)

	status, _ := get(t, c, http.MethodGet, "/v1/nothing/secret", "")
	assert.Equal(t, http.StatusNotFound, status)
	status, _ = get(t, c, "BREW", "/v1/health", "")
	assert.Equal(t, http.StatusMethodNotAllowed, status)
	got, text = scrape(t, c)
	assert.Equal(t, 1.0, got.value("grapnel_requests_total", "method", "GET", "route", "other", "status", "404"))
	assert.Equal(t, 1.0, got.value("grapnel_requests_total", "method", "other", "route", "other", "status", "405"))
	assert.Equal(t, scrapes, got.value("grapnel_requests_total", "method", "GET", "route", "/metrics", "status", "200"))
	assert.NotContains(t, text, "secret")
}
