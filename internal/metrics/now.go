package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// now are the figures of what goes on at the time of a scrape.
type now struct {
	source Source

	running, waiting, queued, abandoned, lateHooks, streams, lagging, missed, started *prometheus.Desc
}

func newNow(source Source) *now {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &now{
		source:    source,
		running:   desc("grapnel_turns_running", "Turns that run."),
		waiting:   desc("grapnel_waiting", "What waits for a person or a client.", "for"),
		queued:    desc("grapnel_queued", "Messages that wait for the turn before them, and jobs that wait for their next attempt.", "kind"),
		abandoned: desc("grapnel_abandoned_calls", "Calls that ignored their context and still run."),
		lateHooks: desc("grapnel_late_hooks", "Hooks that still run after their timeout."),
		streams:   desc("grapnel_streams", "Clients that read events."),
		lagging:   desc("grapnel_streams_lagging", "Clients that have not taken for a second what is there."),
		missed:    desc("grapnel_events_missed_total", "Events that were left out for clients that lagged."),
		started:   desc("grapnel_start_time_seconds", "When the daemon began, since 1970."),
	}
}

// Describe implements prometheus.Collector.
func (n *now) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{n.running, n.waiting, n.queued, n.abandoned, n.lateHooks, n.streams, n.lagging, n.missed, n.started} {
		to <- d
	}
}

// scrapeTime bounds how long the source may take.
const scrapeTime = 5 * time.Second

// Collect implements prometheus.Collector.
func (n *now) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	a := n.source(ctx)
	gauge := func(d *prometheus.Desc, v int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	gauge(n.running, len(a.Turns))
	gauge(n.waiting, a.Approvals, "approval")
	gauge(n.waiting, a.Questions, "question")
	gauge(n.waiting, a.ClientCalls, "client")
	gauge(n.queued, a.QueuedMessages, "messages")
	if a.QueuedJobs != nil {
		gauge(n.queued, *a.QueuedJobs, "jobs")
	}
	calls := 0
	for _, one := range a.Abandoned {
		calls += one.Count
	}
	gauge(n.abandoned, calls)
	gauge(n.lateHooks, a.LateHooks)
	gauge(n.streams, a.Streams)
	gauge(n.lagging, a.Lagging)
	to <- prometheus.MustNewConstMetric(n.missed, prometheus.CounterValue, float64(a.Missed))
	to <- prometheus.MustNewConstMetric(n.started, prometheus.GaugeValue, float64(a.Started.UnixMilli())/1000)
}
