package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/subsystems/mcp/internal/conn"
)

// The notices about a wait for servers: the first one after this time, and then repeated.
const (
	noticeAfter = time.Second
	noticeEvery = 5 * time.Second
)

type wait struct {
	server *server
	start  *conn.Start // nil if the server is refused
	// needed: the agent waits until the start has ended.
	needed bool
	over   bool
	err    error
}

// lateError says that the server had not answered when the agent was built.
type lateError struct{ after time.Duration }

func (e *lateError) Error() string {
	yet := "yet"
	if e.after > 0 {
		yet = "within " + e.after.String()
	}
	return fmt.Sprintf("it has not answered %s; agents have its tools from the turn after it does; to wait for it, write \"required\": true into its entry", yet)
}

// await starts the servers, all at once, and waits for them. The error is that of ctx or
// of a required server.
func (m *MCP) await(ctx context.Context, cfg *hook.AgentConfig, used []*server) ([]*wait, error) {
	waits := make([]*wait, len(used))
	for i, s := range used {
		waits[i] = &wait{server: s, needed: s.cfg.Required || s.demanded(cfg), over: s.end == nil}
		if waits[i].over {
			waits[i].err = errors.New(s.cfg.Refused)
		} else {
			waits[i].start = s.end.Begin()
		}
	}
	m.watch(ctx, waits)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("connect MCP servers: %w", ctx.Err())
	}
	for _, w := range waits {
		if w.server.cfg.Required && !w.server.cfg.Disabled && w.err != nil {
			return nil, fmt.Errorf("the MCP server %s, which is required, is not there: %w", w.server.cfg.Name, w.err)
		}
	}
	return waits, nil
}

// demanded reports whether the agent names tools of the server, and so cannot be registered
// without it.
func (s *server) demanded(cfg *hook.AgentConfig) bool {
	return cfg.Tools != nil && s.named(cfg.Tools) || cfg.Model.Choice.Tool != "" && s.named([]string{cfg.Model.Choice.Tool})
}

// watch waits until all needed starts have ended, and for the other starts until the
// patience is over. It also returns when ctx ends. Meanwhile it sends notices.
func (m *MCP) watch(ctx context.Context, waits []*wait) {
	began := time.Now()
	patience, notice := time.NewTimer(max(0, m.o.Patience)), time.NewTimer(noticeAfter)
	defer patience.Stop()
	defer notice.Stop()
	done, stop := follow(ctx, waits)
	patient := true
	for pending(waits, patient) != "" && ctx.Err() == nil {
		select {
		case r := <-done:
			r.take()
		case <-notice.C:
			notice.Reset(noticeEvery)
			m.o.Notice(fmt.Sprintf("waiting for %s (%v so far)", pending(waits, patient), time.Since(began).Round(time.Second)))
		case <-patience.C:
			patient = false
		case <-ctx.Done():
		}
	}
	stop()
	for len(done) > 0 {
		r := <-done
		r.take()
	}
	for _, w := range waits {
		if !w.over && ctx.Err() == nil {
			w.err = &lateError{max(0, m.o.Patience)}
			w.server.isLate(w.err)
		}
	}
}

type ended struct {
	*wait
	err error
}

func (e ended) take() {
	e.over, e.wait.err = true, e.err
	if e.err != nil {
		e.server.missing(e.err)
	}
}

// follow waits for each start and sends its end. The caller calls stop, which returns when
// all goroutines have ended.
func follow(ctx context.Context, waits []*wait) (done chan ended, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done = make(chan ended, len(waits))
	var all sync.WaitGroup
	for _, w := range waits {
		if w.over {
			continue
		}
		end, start := w.server.end, w.start
		all.Go(func() {
			if err := end.Wait(ctx, start); ctx.Err() == nil {
				done <- ended{w, err}
			}
		})
	}
	return done, func() { cancel(); all.Wait() }
}

// pending names the servers that are still starting; "" if there are none.
func pending(waits []*wait, patient bool) string {
	var servers []*server
	for _, w := range waits {
		if !w.over && (w.needed || patient) {
			servers = append(servers, w.server)
		}
	}
	switch len(servers) {
	case 0:
		return ""
	case 1:
		return "the MCP server " + servers[0].cfg.Name
	}
	return "the MCP servers " + names(servers)
}

// isLate records that an agent was built without the server, which is still starting.
func (s *server) isLate(err error) {
	s.m.o.Notice(fmt.Sprintf("the MCP server %s: %v", s.cfg.Name, err))
	s.mu.Lock()
	s.late = true
	s.mu.Unlock()
	switch at := s.end.Status(); at.State { // it may have come to its end just before
	case conn.StateConnected:
		s.arrived(nil)
	case conn.StateLost:
		s.arrived(at.Err)
	}
}

func (s *server) missing(err error) {
	s.m.o.Notice(fmt.Sprintf("the MCP server %s is not there: %s", s.cfg.Name, s.reason(err)))
}

// arrived reports the end of a late start; a nil error means connected.
func (s *server) arrived(err error) {
	s.mu.Lock()
	late := s.late
	s.late = false
	s.mu.Unlock()
	switch {
	case !late:
	case err != nil:
		s.missing(err)
	default:
		s.m.o.Notice(fmt.Sprintf("the MCP server %s is connected now; agents have its tools from their next turn on", s.cfg.Name))
	}
}

// Waits reports whether the build of an agent with this configuration may wait for servers.
// It is false for a wrong configuration.
func (m *MCP) Waits(cfg hook.AgentConfig) bool {
	sec, _, err := hook.SectionOf[Section](&cfg, sectionName)
	if err != nil {
		return false
	}
	if len(sec.Define) > 0 {
		return true
	}
	servers, err := used(m.declared(), nil, &sec, cfg.Tools)
	return err == nil && slices.ContainsFunc(servers, func(s *server) bool { return s.end != nil })
}
