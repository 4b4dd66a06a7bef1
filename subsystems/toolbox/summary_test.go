package toolbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/compact"
	"github.com/grapnel-go/grapnel/subsystems/toolbox"
)

// shrinks asks for a compaction in RewriteRequest, as subsystems/compact does.
type shrinks struct {
	hook.Nop
	on  bool
	err error
}

func (s *shrinks) RewriteRequest(ctx context.Context, step *hook.Step, req message.ModelRequest) (message.ModelRequest, error) {
	if s.on {
		s.on = false
		_, s.err = step.Host().Compact(ctx, "it is long", hook.CompactOptions{Keep: 1})
	}
	return req, nil
}

// noSummary is a vendor that fails every summary.
type noSummary struct{ *vendor }

func (v noSummary) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	if req.Tools.Tools().Len() == 0 {
		return func(yield func(message.Chunk, error) bool) { yield(message.Chunk{}, errors.New("no summary today")) }
	}
	return v.vendor.Stream(ctx, req)
}

func TestAFailedSummaryOpensTheBox(t *testing.T) {
	t.Parallel()
	shrink := &shrinks{}
	c, err := composite.New(&struct {
		Drawer  drawer
		Toolbox *toolbox.Toolbox
		Shrinks *shrinks
	}{some(), toolbox.New(), shrink})
	require.NoError(t, err)
	w := &talk{t: t, vendor: &vendor{plays: []string{"say one", "say two", "say three", `mcp__x__merge {}`, "say done"}}}
	w.rt = runtime.New(c, noSummary{w.vendor}, nil)
	require.NoError(t, w.rt.Open(t.Context()))
	t.Cleanup(func() { assert.NoError(t, w.rt.Close(context.WithoutCancel(t.Context()))) })
	cfg := hook.AgentConfig{Name: "a"}.WithSection("toolbox", `{"above":1}`)
	cfg.Model.Name = "m"
	agent, err := w.rt.Register(t.Context(), cfg)
	require.NoError(t, err)
	w.conv, err = agent.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	for range 3 {
		w.send(nil)
	}
	shrink.on = true
	w.send(nil)
	assert.Contains(t, w.vendor.results()[0], "denied", "what is not shown cannot be called")
}

// The same with the real subsystems, in the order of internal/app/hooks.go.
func TestRealCompactOpensTheBox(t *testing.T) {
	t.Parallel()
	c, err := composite.New(&struct {
		Drawer  drawer
		Toolbox *toolbox.Toolbox
		Compact *compact.Compact
	}{some(), toolbox.New(), compact.New(&compact.Options{Window: 4000, Share: 0.5, Keep: 0.1})})
	require.NoError(t, err)
	long := "say " + strings.Repeat("word ", 620) // 2,000 bytes
	w := &talk{t: t, vendor: &vendor{}}
	w.vendor.plays = []string{long, long, long, `mcp__x__merge {}`, "say done"}
	w.rt = runtime.New(c, noSummary{w.vendor}, nil)
	require.NoError(t, w.rt.Open(t.Context()))
	t.Cleanup(func() { assert.NoError(t, w.rt.Close(context.WithoutCancel(t.Context()))) })
	cfg := hook.AgentConfig{Name: "a"}.WithSection("toolbox", `{"above":1}`)
	cfg.Model.Name = "m"
	agent, err := w.rt.Register(t.Context(), cfg)
	require.NoError(t, err)
	w.conv, err = agent.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	for range 4 {
		w.send(nil)
	}
	assert.Contains(t, w.vendor.results()[0], "denied")
}
