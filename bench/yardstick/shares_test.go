package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClassOf(t *testing.T) {
	send := frame{ours + "runtime.(*Conversation).Send", ours + "runtime/conversation.go"}
	for _, tc := range []struct {
		class string
		stack []frame
	}{
		{classEvents, []frame{{"runtime.mallocgc", "runtime/malloc.go"}, {ours + "runtime/internal/stream.(*Log).take", ours + "runtime/internal/stream/deliver.go"}, send}},
		{classLoop, []frame{{"time.Now", "time/time.go"}, send}},
		{classTools, []frame{{ours + "composite.(*dispatch).run", ours + "composite/dispatch.go"}}},
		{classHooks, []frame{{ours + "subsystems/policy.(*Policy).BeforeTool", ours + "subsystems/policy/policy.go"}, send}},
		{classModel, []frame{{ours + "runtime_test.(*loop).Stream", ours + "runtime/bench_test.go"}, send}},
		{classRuntime, []frame{{"runtime.gcDrain", "runtime/mgcmark.go"}, {"internal/runtime/atomic.Load", "x.go"}}},
		{classOther, []frame{{"testing.(*B).Loop", "testing/benchmark.go"}, {"runtime.goexit", "x.s"}}},
	} {
		assert.Equal(t, tc.class, classOf(tc.stack), "%v", tc.stack)
	}
}

func TestShareOut(t *testing.T) {
	at := func(function, file string) *profile.Location {
		return &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: function, Filename: file}}}}
	}
	parts, samples := shareOut(&profile.Profile{Sample: []*profile.Sample{
		{Value: []int64{3}, Location: []*profile.Location{at("x.y", "x.go"), at(ours+"runtime/internal/loop.(*Turn).run", ours+"runtime/internal/loop/turn.go")}},
		{Value: []int64{1}, Location: []*profile.Location{at("runtime.schedule", "runtime/proc.go")}},
	}})
	assert.Equal(t, int64(4), samples)
	s, sum := Share{Parts: parts}, 0.0
	for _, p := range parts {
		sum += p.Share
	}
	assert.InDelta(t, 0.75, s.of(classLoop), 1e-9)
	assert.InDelta(t, 0.25, s.of(classRuntime), 1e-9)
	assert.InDelta(t, 1, sum, 1e-9, "nothing is hidden")
}

// A prefix that is a file or a directory names one that is there.
func TestPrefixesAreThere(t *testing.T) {
	for _, prefix := range slices.Sorted(maps.Keys(prefixes)) {
		if strings.ContainsAny(prefix, "(") || strings.Contains(prefix, "_test.") || strings.HasSuffix(prefix, ".") {
			continue // a function
		}
		found, err := filepath.Glob(filepath.Join("..", "..", prefix+"*"))
		require.NoError(t, err)
		assert.NotEmpty(t, found, prefix)
	}
	_, err := os.Stat(filepath.Join("..", "..", "runtime", "internal", "loop", "turn.go"))
	require.NoError(t, err)
}
