package modelfaults_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/subsystems/fallback"
)

// said is what the model says to every turn.
var said = script{
	first: "I look — at the notes 😀.", path: "a long name — of notes 😀.txt",
	last: "The notes say that everything — from the first word 😀 to the last one — is there.",
}

// try is a request and what became of it.
type try struct {
	at     time.Time
	answer answer
	// faulty: the answer is not whole.
	faulty bool
}

// network is the server and all that is between. It damages the first answers to each call
// of a turn.
type network struct {
	dialect dialect
	kind    kind
	dice    *rand.Rand
	// damaged is how many answers to the first and to the second call.
	damaged [2]int
	// made has the requests of both calls.
	made [2][]try
	odd  []string
}

// RoundTrip implements http.RoundTripper.
func (n *network) RoundTrip(req *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if no := n.dialect.check(n.dialect.model(), data); no != nil {
		n.odd = append(n.odd, fmt.Sprintf("a request is refused: %s: %s", no.Message, data))
	}
	c, err := callOf(data)
	if err != nil {
		return nil, err
	}
	whole := n.dialect.first(said)
	if c.step > 0 {
		whole = n.dialect.last(said)
	}
	this := try{at: time.Now(), answer: stream(whole.Events)}
	if len(n.made[c.step]) < n.damaged[c.step] {
		this.answer, this.faulty = n.kind.make(n.dialect, n.dice, whole), !n.kind.harmless
	}
	n.made[c.step] = append(n.made[c.step], this)
	if this.answer.status == 0 {
		<-req.Context().Done()
		return nil, req.Context().Err()
	}
	return &http.Response{
		StatusCode: this.answer.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: this.answer.header, Body: newBody(this.answer), ContentLength: -1, Request: req,
	}, nil
}

// drill is a turn with one kind of fault, on a virtual clock. wrap and compose make
// known-bad variants, nil is none.
type drill struct {
	dialect dialect
	kind    kind
	seed    uint64
	wrap    func(provider.Provider) provider.Provider
	compose func(*reader) hook.Hook
}

// report is what became of a turn.
type report struct {
	complete bool
	wrongs   []string
	requests int
	// waits are the pauses, without what the server asked for, as parts of the longest
	// that they may have been.
	waits []float64
}

// play plays the turn and looks at it from the side of the server.
func (d drill) play(t *testing.T) (r report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		dice := diceOf(d.dialect.name, d.kind.name, d.seed)
		n := &network{dialect: d.dialect, kind: d.kind, dice: dice, damaged: [2]int{dice.IntN(tries + 1), dice.IntN(tries + 1)}}
		p := d.dialect.open(n)
		if d.wrap != nil {
			p = d.wrap(p)
		}
		notes := newReader()
		var h hook.Hook = crew{fallback.New(&fallback.Options{Random: diceOf("pauses", d.seed).Float64}), notes}
		if d.compose != nil {
			h = d.compose(notes)
		}
		s := newStage(t, h, notes, p, d.dialect.model())
		e, err := s.play(t.Context(), "ann", asked, nil)
		require.NoError(t, err)
		require.NoError(t, s.rt.Close(t.Context()))
		what := said
		what.doubles, what.twice = d.kind.doubles, d.kind.doubles && d.dialect.atOnce
		r.complete, r.wrongs = e.err == nil, append(what.wrongs(t.Context(), e), n.odd...)
		n.judge(&r, e)
	})
	return r
}

// judge holds the requests against the rules: each failed answer is asked for again, as
// often as may be and no more, after a pause within its bounds. The turn fails if and only
// if the last answer to a call did.
func (n *network) judge(r *report, e ending) {
	var failed string
	for step, made := range n.made {
		r.requests += len(made)
		for i, this := range made {
			last := i+1 == len(made)
			if n.kind.doubles && i < n.damaged[step] {
				this.faulty = !last || e.err != nil // the adapter decides
			}
			most := cmp.Or(this.answer.most, tries)
			switch {
			case !this.faulty && !last:
				r.wrongs = append(r.wrongs, "a whole answer was asked for again")
			case this.faulty && last && i+1 < most:
				r.wrongs = append(r.wrongs, fmt.Sprintf("an answer was not asked for again after %d tries", i+1))
			case this.faulty && !last && i+1 >= most:
				r.wrongs = append(r.wrongs, fmt.Sprintf("an answer was asked for again after %d tries", i+1))
			}
			switch {
			case this.faulty && last:
				if failed = n.dialect.wire.Name + ": "; i > 0 {
					failed = fmt.Sprintf("(after %d tries in ", i+1)
				}
			case this.faulty:
				r.waited(this.answer.asked, made[i+1].at.Sub(this.at)-this.answer.took, i)
			}
		}
	}
	switch {
	case e.err == nil && failed != "":
		r.wrongs = append(r.wrongs, "the turn ended well although its last answer was not whole")
	case e.err != nil && failed == "":
		r.wrongs = append(r.wrongs, fmt.Sprintf("the turn failed although all was there: %v", e.err))
	case e.err != nil && !strings.Contains(e.err.Error(), failed):
		r.wrongs = append(r.wrongs, fmt.Sprintf("the error does not say %q: %v", failed, e.err))
	}
}

// waited holds a pause against its bounds: at least what the server asked for, and beyond
// that between 0 and 2, 4, 8, 16 seconds, all in all no longer than a minute.
func (r *report) waited(asked, pause time.Duration, try int) {
	most := min(fallback.DefaultPause<<try, fallback.DefaultMaxWait)
	if pause < asked || pause > min(asked+most, fallback.DefaultMaxWait) {
		r.wrongs = append(r.wrongs, fmt.Sprintf("a pause of %s; %s was asked for, and up to %s more is allowed", pause, asked, most))
	}
	if asked+most <= fallback.DefaultMaxWait { // else it may have been cut off there
		r.waits = append(r.waits, float64(pause-asked)/float64(most))
	}
}

// Whatever kind of fault meets the answers to a turn, nothing that is not whole is taken for
// whole, no tool runs with a part of its arguments, and the calls are made again as often and
// after such pauses as the rules say.
func TestTurnsSurviveEveryKindOfFault(t *testing.T) {
	var turns, complete, requests int
	var waits []float64
	for _, d := range dialects() {
		for _, k := range kinds() {
			t.Run(d.name+"/"+k.name, func(t *testing.T) {
				for seed := range seedsOfEach() {
					r := drill{dialect: d, kind: k, seed: seed}.play(t)
					require.Empty(t, r.wrongs, "seed %d", seed)
					turns, requests, waits = turns+1, requests+r.requests, append(waits, r.waits...)
					if r.complete {
						complete++
					}
				}
			})
		}
	}
	if t.Failed() {
		return
	}
	least, most, sum := 1.0, 0.0, 0.0
	for _, w := range waits {
		least, most, sum = min(least, w), max(most, w), sum+w
	}
	mean, sevenSigma := sum/float64(len(waits)), 2/math.Sqrt(float64(len(waits)))
	assert.InDelta(t, 0.5, mean, sevenSigma, "the pauses are spread evenly")
	figure(t, "seed", 0, "of the first turn of each kind, then 1, 2, …")
	figure(t, "turns", turns, fmt.Sprintf("of %d kinds, each with %d seeds", len(kinds())*len(dialects()), seedsOfEach()))
	figure(t, "complete", complete, fmt.Sprintf("of them after %d requests, no part taken for the whole", requests))
	figure(t, "waits", len(waits), fmt.Sprintf("within their bounds: from %.3f to %.3f of the longest, %.3f on average", least, most, mean))
}

// forgiving is a known-bad adapter: it takes what it has for the whole when an answer ends.
type forgiving struct{ provider.Provider }

func (f forgiving) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		for c, err := range f.Provider.Stream(ctx, req) {
			if err != nil {
				c = message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop}
			}
			if !yield(c, nil) || err != nil {
				return
			}
		}
	}
}

// mending is a known-bad adapter: it completes a call that broke off, so that its arguments
// are JSON.
type mending struct{ provider.Provider }

func (m mending) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		args := ""
		for c, err := range m.Provider.Stream(ctx, req) {
			if err != nil && strings.HasPrefix(args, `{"path":"`) {
				_ = yield(message.Chunk{Kind: message.ChunkCallArgs, Text: `"}`}, nil) &&
					yield(message.Chunk{Kind: message.ChunkCallEnd}, nil) &&
					yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishTools}, nil)
				return
			}
			if c.Kind == message.ChunkCallArgs {
				args += c.Text
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// deaf is a known-bad adapter: it does not read what the server asks for.
type deaf struct{ provider.Provider }

func (f deaf) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		for c, err := range f.Provider.Stream(ctx, req) {
			if err != nil {
				class, _ := provider.Classify(err)
				err = &provider.Error{Class: class, Err: err}
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// endless is a known-bad composition: it asks again at once and as often as it may.
type endless struct{ bare }

func (endless) OnModelError(context.Context, *hook.Step, message.ModelFailure) (hook.FailureDecision, error) {
	return hook.RetryFailure(0), nil
}

// The same rules find who takes a part for the whole, who runs a tool with a part of its
// arguments, who does not wait as the server asks, and who does not stop asking.
func TestEveryKindOfFaultFindsWhoBreaksTheRules(t *testing.T) {
	needs.Proof(t)
	const seeds = 10
	for _, bad := range []struct {
		name, says string
		drill      drill
	}{
		{"bad.half-is-whole", "the answer is", drill{wrap: func(p provider.Provider) provider.Provider { return forgiving{p} }}},
		{"bad.mending", "the call call_notes ran with", drill{wrap: func(p provider.Provider) provider.Provider { return mending{p} }}},
		{"bad.deaf", "was asked for, and up to", drill{wrap: func(p provider.Provider) provider.Provider { return deaf{p} }}},
		{"bad.endless", "was asked for again after", drill{compose: func(r *reader) hook.Hook { return endless{bare{reader: r}} }}},
	} {
		found, d := 0, bad.drill
		for _, d.dialect = range dialects() {
			for _, d.kind = range kinds() {
				for d.seed = range seeds {
					if strings.Contains(strings.Join(d.play(t).wrongs, "; "), bad.says) {
						found++
					}
				}
			}
		}
		assert.Positive(t, found, bad.name)
		figure(t, bad.name, found, fmt.Sprintf("of %d turns", seeds*len(kinds())*len(dialects())))
	}
}
