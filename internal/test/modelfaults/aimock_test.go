//go:build unix

package modelfaults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/node"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest"
	"github.com/grapnel-go/grapnel/subsystems/fallback"
)

const (
	fixtures = "testdata/aimock/turns.json"
	// players play turns at the same time.
	players = 4
)

// aimock starts npm's @copilotkit/aimock and returns its address.
func aimock(t *testing.T) string {
	t.Helper()
	return "http://" + node.Serve(t, "llmock", "--port", "0", "--chunk-size", "5", "--fixtures", "testdata/aimock", "--strict").Addr
}

// scripted reads from the fixtures what the model says.
func scripted(t *testing.T) (s script) {
	t.Helper()
	data, err := os.ReadFile(fixtures)
	require.NoError(t, err)
	var file struct {
		Fixtures []struct {
			Response struct {
				Content   string
				ToolCalls []struct{ Arguments struct{ Path string } }
			}
		}
	}
	require.NoError(t, json.Unmarshal(data, &file))
	first, last := file.Fixtures[0].Response, file.Fixtures[1].Response
	return script{first: first.Content, path: first.ToolCalls[0].Arguments.Path, last: last.Content}
}

// game plays turns through a relay.
type game struct {
	relay  *relay
	strict *strictwire.Server
	stage  *stage
	script script
}

// newGame composes what is tested; wrap and compose make known-bad variants of the adapter
// and of the composition, nil is none.
func newGame(t *testing.T, d dialect, aimock string, faults []string, wrap func(provider.Provider) provider.Provider, compose func(*reader) hook.Hook) *game {
	t.Helper()
	r, server := newRelay(t, d, aimock, faults...)
	tr := &http.Transport{MaxIdleConnsPerHost: players}
	t.Cleanup(tr.CloseIdleConnections)
	p := d.wire.Open(providertest.Server{URL: server.URL, Transport: tr})
	if wrap != nil {
		p = wrap(p)
	}
	if compose == nil {
		compose = func(r *reader) hook.Hook { return patient(r) }
	}
	strict, notes := strictwire.Anthropic(p), newReader()
	g := &game{relay: r, strict: strict, script: scripted(t), stage: newStage(t, compose(notes), notes, strict, d.model())}
	t.Cleanup(func() { assert.NoError(t, g.stage.rt.Close(context.WithoutCancel(t.Context()))) })
	return g
}

// patient is what is tested. Its pauses are of nanoseconds: the sockets are real, and so is
// the time.
func patient(r *reader) crew {
	return crew{fallback.New(&fallback.Options{Tries: tries, Pause: time.Nanosecond, Failures: -1}), r}
}

// tally is what became of the turns of a game.
type tally struct {
	turns, complete, requests, faulty int
	// wrongs are what must not happen, and wrong how many turns it happened in.
	wrongs []string
	wrong  int
}

// play plays n turns.
func (g *game) play(t *testing.T, n int) tally {
	t.Helper()
	var (
		next    atomic.Int64
		mu      sync.Mutex
		workers sync.WaitGroup
		sum     = tally{turns: n}
	)
	for range players {
		workers.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				name := fmt.Sprintf(asked+", %d", i)
				e, err := g.stage.play(t.Context(), name, name, nil)
				wrongs := g.wrongs(t.Context(), name, e)
				if err != nil {
					wrongs = append(wrongs, err.Error())
				}
				mu.Lock()
				if e.err == nil {
					sum.complete++
				}
				if len(wrongs) > 0 {
					sum.wrong++
					sum.wrongs = append(sum.wrongs, fmt.Sprintf("%s: %s", name, strings.Join(wrongs, "; ")))
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	sum.wrongs = append(sum.wrongs, g.relay.odd...)
	for _, no := range g.strict.Rejections() {
		sum.wrongs = append(sum.wrongs, "a request is refused: "+no.Message)
	}
	for _, drawn := range g.relay.log {
		sum.requests += len(drawn)
		sum.faulty += len(drawn) - len(slices.DeleteFunc(slices.Clone(drawn), func(f string) bool { return f != "" }))
	}
	return sum
}

// wrongs holds how a turn ended against what the relay drew for it: it fails if and only
// if one of its calls drew five faults in a row.
func (g *game) wrongs(ctx context.Context, turn string, e ending) []string {
	out := g.script.wrongs(ctx, e)
	last := ""
	g.relay.mu.Lock()
	defer g.relay.mu.Unlock()
	for step := range 2 {
		drawn := g.relay.log[modelCall{turn, step}]
		switch whole := slices.Index(drawn, ""); {
		case whole < 0 && len(drawn) == tries:
			last = drawn[tries-1]
		case len(drawn) > tries, whole >= 0 && whole < len(drawn)-1:
			out = append(out, fmt.Sprintf("a call was made again although it drew %q", drawn))
		}
	}
	switch {
	case e.err == nil && last != "":
		out = append(out, "it ended well although a call drew five faults")
	case e.err != nil && last == "":
		out = append(out, fmt.Sprintf("it failed although no call drew five faults: %v", e.err))
	case e.err != nil && !g.names(e.err, last):
		out = append(out, fmt.Sprintf("the error does not name the fault %s and the tries: %v", last, e.err))
	}
	return out
}

// named are the classes of a fault's error, and a part of its text. What is cut within a line
// breaks the protocol.
var named = map[string]struct {
	classes []message.FailureClass
	says    string
}{
	drop:       {[]message.FailureClass{message.FailureServer}, "chaos_drop"},
	rateLimit:  {[]message.FailureClass{message.FailureRateLimit}, "chaos_ratelimit"},
	malformed:  {[]message.FailureClass{message.FailureProtocol}, "<<<chaos>>>"},
	disconnect: {[]message.FailureClass{message.FailureNetwork}, "127.0.0.1"},
	cut:        {[]message.FailureClass{message.FailureNetwork, message.FailureProtocol}, ""},
}

// names reports whether an error says what the fault was, and how often the call was made.
func (g *game) names(err error, fault string) bool {
	class, _ := provider.Classify(err)
	return slices.Contains(named[fault].classes, class) && strings.Contains(err.Error(), named[fault].says) &&
		strings.Contains(err.Error(), g.relay.dialect.wire.Name+": ") &&
		strings.Contains(err.Error(), fmt.Sprintf("(after %d tries in ", tries))
}

// band is between which numbers of n turns the complete ones are, four standard deviations
// around the mean, if each request fails with the probability p.
func band(n int, p float64) (low, high int) {
	q := math.Pow(1-math.Pow(p, tries), 2)
	mean, most := q*float64(n), 4*math.Sqrt(q*(1-q)*float64(n))
	return int(math.Floor(mean - most)), int(math.Ceil(mean + most))
}

// A turn of two model calls, of which each request may fail, is complete unless one of the
// calls fails five times in a row. It is read from the relay what failed.
func TestTurnsSurviveDrawnFaults(t *testing.T) {
	needs.Proof(t)
	url := aimock(t)
	figure(t, "seed", *seedFlag, "of the relay")
	all := []string{drop, malformed, disconnect, rateLimit}
	for at := range 6 * len(dialects()) {
		d, faults := dialects()[at/6], [][]string{{drop}, {malformed}, {disconnect}, {rateLimit}, {cut}, all}[at%6]
		name, n := d.name+"-"+strings.Join(faults, "-"), turnsOfEach()
		t.Run(name, func(t *testing.T) {
			got := newGame(t, d, url, faults, nil, nil).play(t, n)
			assert.Empty(t, got.wrongs)
			low, high := band(n, 1-math.Pow(1-rate, float64(len(faults))))
			assert.LessOrEqual(t, low, got.complete)
			assert.LessOrEqual(t, got.complete, high)
			if len(faults) == 1 && n >= 1000 {
				assert.GreaterOrEqual(t, got.complete, n*985/1000)
			}
			figure(t, name, got.complete, fmt.Sprintf("of %d turns complete; %d of %d requests failed", n, got.faulty, got.requests))
		})
	}
}

// stitching is a known-bad adapter: it makes a failed call again on its own, and goes on
// where the first answer broke off.
type stitching struct{ provider.Provider }

func (s stitching) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		for try := 1; ; try++ {
			var failed error
			for c, err := range s.Provider.Stream(ctx, req) {
				if failed = err; err == nil && !yield(c, nil) {
					return
				}
			}
			if failed == nil {
				return
			}
			if try == tries {
				yield(message.Chunk{}, failed)
				return
			}
		}
	}
}

// twice is a known-bad composition: it runs a tool again.
type twice struct{ crew }

func (twice) WrapTool(ctx context.Context, _ *hook.ToolCall, next hook.ToolNext) message.ToolResult {
	next.Run(ctx)
	return next.Run(ctx)
}

// The same rules find who does not ask again, who takes a part for the whole, who runs a
// tool twice, and who puts two parts together.
func TestDrawnFaultsFindWhoLosesTurns(t *testing.T) {
	needs.Proof(t)
	url := aimock(t)
	for _, bad := range []struct {
		name, says string
		wrap       func(provider.Provider) provider.Provider
		compose    func(*reader) hook.Hook
		forgives   bool
	}{
		{name: "bad.no-fallback", says: "failed although no call drew five faults", compose: func(r *reader) hook.Hook { return bare{reader: r} }},
		{name: "bad.forgiving", says: "the answer is", forgives: true},
		{name: "bad.twice", says: `ran with ["a long name — of notes 😀.txt" "a long name`, compose: func(r *reader) hook.Hook { return twice{patient(r)} }},
		{name: "bad.stitching", says: "the answer is", wrap: func(p provider.Provider) provider.Provider { return stitching{p} }},
	} {
		t.Run(bad.name, func(t *testing.T) {
			g := newGame(t, dialects()[0], url, []string{cut}, bad.wrap, bad.compose)
			g.relay.forgives = bad.forgives
			got := g.play(t, 40)
			assert.Contains(t, strings.Join(got.wrongs, "\n"), bad.says)
			t.Log(got.wrongs[:min(1, len(got.wrongs))])
			figure(t, bad.name, got.wrong, "of 40 turns")
		})
	}
}
