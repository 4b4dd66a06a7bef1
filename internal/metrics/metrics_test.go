package metrics_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/metrics"
	"github.com/grapnel-go/grapnel/internal/monitor"
)

// lines are those of the metrics whose names begin with grapnel_ and that are neither help nor buckets.
func lines(m *metrics.Metrics) (out []string) {
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "grapnel_") && !strings.Contains(line, "_bucket{") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

// each has counted something of each kind.
func each(t *testing.T) *metrics.Metrics {
	jobs := 4
	m := metrics.New(func(context.Context) wire.Activity {
		return wire.Activity{
			Started: time.Unix(1, 500_000_000), Turns: make([]wire.ActiveTurn, 2), Approvals: 1, Questions: 2, ClientCalls: 3, QueuedMessages: 5, QueuedJobs: &jobs,
			Abandoned: []wire.Abandoned{{Tool: "a", Count: 2}, {Hook: "b", Count: 1}}, LateHooks: 6, Streams: 7, Lagging: 8, Missed: 9,
		}
	})
	turn := hooktest.Turn(hooktest.Conversation(&hook.AgentConfig{Name: "a"}, nil), "hello")
	m.AfterTurn(t.Context(), turn, hook.TurnOutcome{Stop: hook.StopCompleted, Duration: 2 * time.Second})
	m.AfterTurn(t.Context(), turn, hook.TurnOutcome{Stop: "novel", Duration: time.Second})
	usage := message.Usage{Input: 10, Output: 5, CacheRead: 3, CacheWrite: 2}
	m.OnEvent(t.Context(), hook.Event{Kind: event.Usage, Agent: "a"}.WithUsage(usage, hook.Dollar/4, ""))
	m.OnEvent(t.Context(), hook.Event{Kind: event.CallResult, Agent: "a"}.WithDetail(hook.EventDetail{Outcome: message.OutcomeDenied}))
	m.OnEvent(t.Context(), hook.Event{Kind: event.CallResult, Agent: "a"}.WithDetail(hook.EventDetail{Outcome: "novel", Duration: time.Second}))
	m.Answered(monitor.Request{Method: "GET", Route: "/v1/plan", Status: 200})
	return m
}

func TestMetricsOfEachKind(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{
		`grapnel_abandoned_calls 3`,
		`grapnel_cost_dollars_total{agent="a"} 0.25`,
		`grapnel_events_missed_total 9`,
		`grapnel_late_hooks 6`,
		`grapnel_queued{kind="jobs"} 4`,
		`grapnel_queued{kind="messages"} 5`,
		`grapnel_requests_total{method="GET",route="/v1/plan",status="200"} 1`,
		`grapnel_start_time_seconds 1.5`,
		`grapnel_streams 7`,
		`grapnel_streams_lagging 8`,
		`grapnel_tokens_total{agent="a",kind="cache_read"} 3`,
		`grapnel_tokens_total{agent="a",kind="cache_write"} 2`,
		`grapnel_tokens_total{agent="a",kind="input"} 10`,
		`grapnel_tokens_total{agent="a",kind="output"} 5`,
		`grapnel_tool_call_seconds_sum 1`,
		`grapnel_tool_call_seconds_count 1`,
		`grapnel_tool_calls_total{outcome="denied"} 1`,
		`grapnel_tool_calls_total{outcome="other"} 1`,
		`grapnel_turn_seconds_sum 3`,
		`grapnel_turn_seconds_count 2`,
		`grapnel_turns_running 2`,
		`grapnel_turns_total{agent="a",stop="completed"} 1`,
		`grapnel_turns_total{agent="a",stop="other"} 1`,
		`grapnel_waiting{for="approval"} 1`,
		`grapnel_waiting{for="client"} 3`,
		`grapnel_waiting{for="question"} 2`,
	}, lines(each(t)))
}

// TestAgentsWithoutEnd: who makes agents without end makes no labels without end.
func TestAgentsWithoutEnd(t *testing.T) {
	t.Parallel()
	m := metrics.New(func(context.Context) wire.Activity { return wire.Activity{} })
	for i := range 1000 {
		m.OnEvent(t.Context(), hook.Event{Kind: event.Usage, Agent: fmt.Sprint("agent", i)}.WithUsage(message.Usage{}, hook.Dollar, ""))
	}
	var costs []string
	for _, line := range lines(m) {
		if strings.HasPrefix(line, "grapnel_cost_") {
			costs = append(costs, line)
		}
	}
	assert.Len(t, costs, 201)
	assert.Contains(t, costs, `grapnel_cost_dollars_total{agent="other"} 800`)
}
