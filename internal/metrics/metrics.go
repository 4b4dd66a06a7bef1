// Package metrics counts what a daemon does, for Prometheus. Labels are few and bounded: names of agents, reasons, outcomes and routes,
// and never a conversation, a sender, a tool's arguments or a text.
package metrics

import (
	"cmp"
	"context"
	"io"
	"log"
	"net/http"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/monitor"
)

// maxAgents is how many agents have labels of their own. A client may make agents without end; those after it are other.
const maxAgents = 200

// other is the label of what has none of its own.
const other = "other"

// Source returns what the daemon does right now.
type Source func(ctx context.Context) wire.Activity

// Metrics counts as a hook of the runtime, and by Answered. It is safe for concurrent use.
type Metrics struct {
	hook.Nop
	registry *prometheus.Registry

	turns, calls, tokens, cost, requests *prometheus.CounterVec
	turnSeconds, callSeconds             prometheus.Histogram

	mu     sync.Mutex
	agents map[string]bool
}

// New returns metrics that have counted nothing. At each scrape it asks the source.
func New(source Source) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets ...float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	}
	m := &Metrics{
		registry:    prometheus.NewRegistry(),
		turns:       counter("grapnel_turns_total", "Turns that have ended, with those of subagents.", "agent", "stop"),
		calls:       counter("grapnel_tool_calls_total", "Tool calls that have ended.", "outcome"),
		tokens:      counter("grapnel_tokens_total", "Tokens of model calls.", "agent", "kind"),
		cost:        counter("grapnel_cost_dollars_total", "What model calls have cost. Models without a known price count as free.", "agent"),
		requests:    counter("grapnel_requests_total", "Requests to the API that were answered; a stream counts when it ends.", "method", "route", "status"),
		turnSeconds: histogram("grapnel_turn_seconds", "How long turns took.", 0.1, 0.5, 1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600),
		callSeconds: histogram("grapnel_tool_call_seconds", "How long tool calls took that ran.", 0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800),
		agents:      map[string]bool{},
	}
	m.registry.MustRegister(m.turns, m.calls, m.tokens, m.cost, m.requests, m.turnSeconds, m.callSeconds, newNow(source),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler writes the metrics in the text format of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorLog: log.New(io.Discard, "", 0)})
}

// AfterTurn counts a turn that has ended.
func (m *Metrics) AfterTurn(_ context.Context, turn *hook.Turn, out hook.TurnOutcome) {
	stop := string(out.Stop)
	if out.Stop.Authority() == hook.StopReason("").Authority() {
		stop = other
	}
	m.turns.WithLabelValues(m.agent(turn.Agent().Name), stop).Inc()
	m.turnSeconds.Observe(out.Duration.Seconds())
}

// OnEvent counts calls of tools and of models.
func (m *Metrics) OnEvent(_ context.Context, ev hook.Event) {
	switch ev.Kind {
	case event.CallResult:
		d := ev.Detail()
		m.calls.WithLabelValues(outcome(d.Outcome)).Inc()
		if d.Duration > 0 {
			m.callSeconds.Observe(d.Duration.Seconds())
		}
	case event.Usage:
		d, agent := ev.Detail(), m.agent(ev.Agent)
		for _, of := range []struct {
			kind string
			n    int64
		}{{"input", d.Usage.Input}, {"output", d.Usage.Output}, {"cache_read", d.Usage.CacheRead}, {"cache_write", d.Usage.CacheWrite}} {
			m.tokens.WithLabelValues(agent, of.kind).Add(float64(max(0, of.n)))
		}
		m.cost.WithLabelValues(agent).Add(float64(max(0, d.Cost)) / float64(hook.Dollar))
	}
}

// Answered counts a request.
func (m *Metrics) Answered(r monitor.Request) {
	m.requests.WithLabelValues(r.Method, cmp.Or(r.Route, other), strconv.Itoa(r.Status)).Inc()
}

// agent returns the label of an agent.
func (m *Metrics) agent(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.agents[name] {
		if len(m.agents) == maxAgents {
			return other
		}
		m.agents[name] = true
	}
	return name
}

func outcome(o message.Outcome) string {
	switch o {
	case message.OutcomeExecuted, message.OutcomeFailed, message.OutcomeDenied, message.OutcomeAnswered, message.OutcomeCancelled,
		message.OutcomeTimedOut, message.OutcomePanicked, message.OutcomeUnknown, message.OutcomeInvalid, message.OutcomeInterrupted:
		return string(o)
	}
	return other
}
