package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/args"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// witness is at every point that sees the arguments of a call, asks for approval of
// each, approves it, and has the tool.
type witness struct {
	hook.Nop
	// naive reads the arguments as encoding/json does, and passes them on as they came.
	naive bool
	seen  map[string]message.JSON
	// got is what the tool was given, if it ran.
	got string
	ran int
}

func (w *witness) see(where string, a message.JSON) { w.seen[where] = a }

// Schema implements hook.Hook.
func (w *witness) Schema() []message.Tool { return []message.Tool{{Name: "run", Input: toolInput}} }

// Dispatch implements hook.Hook.
func (w *witness) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	if w.naive {
		var in struct {
			S string `json:"s"`
		}
		if err := json.Unmarshal([]byte(call.Args()), &in); err != nil {
			return hook.BadArgs(call.Args(), &hook.ArgError{Tool: "run", Reason: "is no object", Schema: toolInput}), true
		}
		return hook.Bound(call.Args(), given{w, in.S}), true
	}
	d := args.New(call, toolInput)
	s := ""
	o := d.Object()
	for o.Next() {
		if o.Key() != "s" {
			o.Unknown("s")
			continue
		}
		o.Once(0)
		s = d.String()
	}
	return d.Bind(given{w, s}), true
}

// given is a bound call of the tool.
type given struct {
	w *witness
	s string
}

// Run implements hook.Runner.
func (g given) Run(_ context.Context, env *hook.Env) message.ToolResult {
	g.w.see("tool", env.Call.Args())
	g.w.ran++
	g.w.got = g.s
	return message.TextResult("ran")
}

// RewriteArgs implements hook.RewriteArgs.
func (w *witness) RewriteArgs(_ context.Context, _ *hook.ToolCall, a message.JSON) (message.JSON, error) {
	w.see("RewriteArgs", a)
	return a, nil
}

// BeforeTool implements hook.BeforeTool.
func (w *witness) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	w.see("BeforeTool", call.Args())
	return hook.AskTool("sure?"), nil
}

// Approve implements hook.Approve.
func (w *witness) Approve(_ context.Context, call *hook.ToolCall, _ hook.ToolDecision) (hook.ApprovalDecision, error) {
	w.see("Approve", call.Args())
	return hook.ApproveCall(), nil
}

// WrapTool implements hook.WrapTool.
func (w *witness) WrapTool(ctx context.Context, call *hook.ToolCall, next hook.ToolNext) message.ToolResult {
	w.see("WrapTool", call.Args())
	return next.Run(ctx)
}

// RewriteResult implements hook.RewriteResult.
func (w *witness) RewriteResult(_ context.Context, call *hook.ToolCall, r message.ToolResult) (message.ToolResult, error) {
	w.see("RewriteResult", call.Args())
	return r, nil
}

// AfterTool implements hook.AfterTool.
func (w *witness) AfterTool(_ context.Context, call *hook.ToolCall, _ hook.ToolOutcome) (hook.OutcomeDecision, error) {
	w.see("AfterTool", call.Args())
	return hook.OutcomeDecision{}, nil
}

// OnEvent implements hook.Hook.
func (w *witness) OnEvent(_ context.Context, ev hook.Event) {
	switch ev.Kind {
	case event.CallStart, event.ApprovalAsked, event.ApprovalGiven:
		w.see(string(ev.Kind), ev.Detail().Args)
	}
}

// gates are who must not see arguments that cannot be bound.
var gates = []string{"RewriteArgs", "BeforeTool", "Approve", "WrapTool", "tool"}

// everywhere are all who see those of a call that runs; the history comes to it.
var everywhere = append([]string{"RewriteResult", "AfterTool", "call_start", "approval_asked", "approval_given"}, gates...)

// court plays one call after the other.
type court struct {
	*witness
	rt    *runtime.Runtime
	store *mem.Store
	raw   string
	n     int
}

func newCourt(t testing.TB, naive bool) *court {
	c := &court{witness: &witness{naive: naive, seen: map[string]message.JSON{}}, store: mem.New(nil)}
	c.rt = runtime.New(c.witness, c, &runtime.Options{Store: c.store})
	require.NoError(t, c.rt.Open(context.Background()))
	t.Cleanup(func() { assert.NoError(t, c.rt.Close(context.Background())) })
	c.register(t)
	return c
}

// register makes the agent anew, so that its conversations do not pile up.
func (c *court) register(t testing.TB) {
	ctx := context.Background()
	if c.n > 0 {
		require.NoError(t, c.rt.Unregister(ctx, "a"))
	}
	_, err := c.rt.Register(ctx, hook.AgentConfig{Name: "a"})
	require.NoError(t, err)
}

// Stream implements provider.Provider.
func (c *court) Stream(_ context.Context, req message.ModelRequest) message.ModelStream {
	if req.Messages.At(req.Messages.Len()-1).Role == message.RoleTool {
		return chunks(message.Chunk{Kind: message.ChunkText, Text: "done"}, finish(message.FinishStop))
	}
	return chunks(message.Chunk{Kind: message.ChunkCallStart, CallID: "1", Tool: "run"}, message.Chunk{Kind: message.ChunkCallArgs, Text: c.raw},
		message.Chunk{Kind: message.ChunkCallEnd}, finish(message.FinishTools))
}

// try has the model send these arguments, and returns what is wrong.
func (c *court) try(t testing.TB, raw string) []string {
	ctx := context.Background()
	if c.n++; c.n%1000 == 0 {
		c.register(t)
	}
	clear(c.seen)
	c.raw, c.ran, c.got = raw, 0, ""
	sender := fmt.Sprint(c.n)
	conv, err := dialog.Conversation(ctx, c.rt, "a", sender)
	require.NoError(t, err)
	_, _ = dialog.Send(ctx, conv, message.TextInput("go"), nil)
	rec, err := c.store.Conversation(ctx, store.Key{Agent: "a", Sender: sender})
	require.NoError(t, err)
	ms, err := c.store.Messages(ctx, rec.ID)
	require.NoError(t, err)
	var wrong []string
	for _, p := range history.Check(ms) {
		wrong = append(wrong, p.String())
	}
	stored, result := ms[1].Content.At(0).JSON, ms[2].Result
	if c.ran > 0 {
		return append(wrong, c.identical(stored)...)
	}
	for _, where := range gates {
		if _, saw := c.seen[where]; saw {
			wrong = append(wrong, where+" has seen what cannot be bound")
		}
	}
	if result.Failure != message.FailArguments || !strings.Contains(result.Text(), toolInput) {
		wrong = append(wrong, fmt.Sprintf("the model is told %q, without the schema", result.Text()))
	}
	return wrong
}

// identical returns who has seen other arguments than the history has, and whether
// they mean to another reader what the tool was given.
func (c *court) identical(stored message.JSON) (wrong []string) {
	if c.ran != 1 {
		wrong = append(wrong, fmt.Sprintf("the tool ran %d times", c.ran))
	}
	for _, where := range everywhere {
		if a, saw := c.seen[where]; !saw || a != stored {
			wrong = append(wrong, fmt.Sprintf("%s saw %q, and the history has %q", where, a, stored))
		}
	}
	if canonical, err := args.Canonical(string(stored)); err != nil || canonical != stored {
		wrong = append(wrong, fmt.Sprintf("%q is not canonical", stored))
	}
	var read map[string]any
	if err := json.Unmarshal([]byte(stored), &read); err != nil {
		return append(wrong, err.Error())
	}
	if s, _ := read["s"].(string); s != c.got {
		wrong = append(wrong, fmt.Sprintf("a guard reads %q, and the tool was given %q", s, c.got))
	}
	return wrong
}

// argSeeds are what the fuzzer and the random inputs begin with.
var argSeeds = []string{
	`{"s":"x"}`, `{}`, ``, ` { "s" : "x" } `, `{"\u0073":"x"}`, `{"s":"\u00e9\n\/"}`, `{"s":"😀"}`, `{"s":"\ud83d\ude00"}`,
	`{"s":"ls","S":"rm"}`, `{"s":"ls","s":"rm"}`, `{"s":"ls","\u0073":"rm"}`, `{"S":"rm"}`, "{\"\u017f\":\"rm\"}", `{"s":`, `{"s":"x"}}`,
	`{"s":"x"} {"s":"y"}`, `{"s":null}`, `{"s":1}`, `{"s":["x"]}`, `{"s":"\ud800"}`, "{\"s\":\"\xff\"}", "{\"s\":\"\\u0000\"}", `null`, `[1]`, `"x"`,
	"\ufeff{}", `{"s":"x",}`, `{s:"x"}`, `{"s":"x"} // y`, strings.Repeat(`{"s":`, 100), `{"s":"<>&` + "\u2028" + `"}`,
}

// anyArgs is one of the seeds with a few changes.
func anyArgs(r *rand.Rand) string {
	b := []byte(argSeeds[r.IntN(len(argSeeds))])
	const letters = `{}[]":,\us0dS xé` + "\x00\xff\n"
	for range r.IntN(4) {
		at := r.IntN(len(b) + 1)
		switch other := argSeeds[r.IntN(len(argSeeds))]; r.IntN(4) {
		case 0:
			b = slices.Insert(b, at, letters[r.IntN(len(letters))])
		case 1:
			if at < len(b) {
				b = slices.Delete(b, at, at+1)
			}
		case 2:
			if at < len(b) {
				b[at] = letters[r.IntN(len(letters))]
			}
		default:
			b = slices.Insert(b, at, []byte(other[:r.IntN(len(other)+1)])...)
		}
	}
	return string(b)
}

// TestArgumentsAreIdenticalForAll has a model send arguments of all kinds. Either
// nothing runs and the model is told why, with the schema, or everybody from the
// first hook to the history has the same canonical bytes, which mean to all what
// the tool was given. Malformed ones one by one: internal/app.
func TestArgumentsAreIdenticalForAll(t *testing.T) {
	c, ran := newCourt(t, false), 0
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 2))
	for n := range *argsFlag {
		raw := argSeeds[n%len(argSeeds)]
		if n >= len(argSeeds) {
			raw = anyArgs(r)
		}
		if wrong := c.try(t, raw); len(wrong) > 0 {
			t.Fatalf("%q: %s", raw, strings.Join(wrong, "; "))
		}
		ran += c.ran
	}
	assert.Positive(t, ran)
	assert.Less(t, ran, *argsFlag)
	figure(t, "seed", seed, "")
	figure(t, "arguments", *argsFlag, "")
	figure(t, "ran", ran, "calls, each seen with the same bytes at 11 places")
	figure(t, "refused", *argsFlag-ran, "calls, none of which ran")
}

// TestArgumentsFindTheNaiveDecoder has encoding/json read the same arguments, and has
// to find what a guard and the tool read differently.
func TestArgumentsFindTheNaiveDecoder(t *testing.T) {
	c, found := newCourt(t, true), 0
	for _, raw := range argSeeds {
		if wrong := c.try(t, raw); strings.Contains(strings.Join(wrong, ";"), "a guard reads") {
			found++
		}
	}
	assert.Positive(t, found)
	figure(t, "bad.naive-decoder", found, "arguments that a guard and the tool read differently")
}

func FuzzArguments(f *testing.F) {
	for _, raw := range argSeeds {
		f.Add(raw)
	}
	c := newCourt(f, false)
	f.Fuzz(func(t *testing.T, raw string) {
		if wrong := c.try(t, raw); len(wrong) > 0 {
			t.Fatalf("%q: %s", raw, strings.Join(wrong, "; "))
		}
	})
}
