package api_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/explain"
	"github.com/grapnel-go/grapnel/internal/monitor"
	"github.com/grapnel-go/grapnel/internal/socket"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/subsystems/approval"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

func TestMain(m *testing.M) {
	for _, media := range []string{"application/jsonl", "text/html", "text/javascript", "text/css", "image/svg+xml"} {
		openapi3filter.RegisterBodyDecoder(media, openapi3filter.FileBodyDecoder)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(covered.look(code)) }))
}

func contextWith(ctx context.Context, key, value any) context.Context {
	return context.WithValue(ctx, key, value)
}

// model does what the user's message says: each line "call TOOL ARGUMENTS" is a
// tool call, and anything else is said again. After tools it says what the last
// one answered.
type model struct{}

var _ provider.Provider = model{}

func (model) Stream(_ context.Context, req message.ModelRequest) message.ModelStream {
	last := req.Messages.At(req.Messages.Len() - 1)
	var out []message.Chunk
	switch {
	case last.Label == message.LabelCompaction && strings.Contains(last.Text(), "fail, model"):
		return func(yield func(message.Chunk, error) bool) { yield(message.Chunk{}, errors.New("the model is away")) }
	case last.Label == message.LabelCompaction && strings.Contains(last.Text(), "be long, model"):
		out = []message.Chunk{{Kind: message.ChunkText, Text: strings.Repeat("They talked. ", 10_000)}}
	case last.Label == message.LabelCompaction:
		out = []message.Chunk{{Kind: message.ChunkText, Text: "They talked."}}
	case last.Role == message.RoleUser && last.Text() == "break down":
		return func(yield func(message.Chunk, error) bool) { yield(message.Chunk{}, errors.New("the model is away")) }
	case last.Role == message.RoleTool:
		out = []message.Chunk{{Kind: message.ChunkText, Text: "it answered: " + last.Result.Text()}}
	case req.Model.Format != message.ResponseFormat{}:
		out = reply(fmt.Sprintf("%s, as %v", last.Text(), req.Model.Format), req.Messages.Len())
	default:
		out = reply(last.Text(), req.Messages.Len())
	}
	out = append(out, message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop, Usage: message.Usage{Input: 10, Output: 5}})
	return func(yield func(message.Chunk, error) bool) {
		for _, c := range out {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func reply(text string, turn int) []message.Chunk {
	var out []message.Chunk
	for i, line := range strings.Split(text, "\n") {
		rest, ok := strings.CutPrefix(line, "call ")
		if !ok {
			return []message.Chunk{{Kind: message.ChunkText, Text: "you said: "}, {Kind: message.ChunkText, Text: text}}
		}
		tool, args, _ := strings.Cut(rest, " ")
		out = append(out,
			message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: "c" + strconv.Itoa(turn) + "_" + strconv.Itoa(i), Tool: tool},
			message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: args},
			message.Chunk{Kind: message.ChunkCallEnd, Index: i})
	}
	return out
}

// box has the tools of the tests.
type box struct {
	hook.Nop
	mu sync.Mutex
	// ran are the arguments that danger ran with.
	ran []string
	// held tells that hold has started; what it waits for is release.
	held, release chan struct{}
	closed        *[]string
	// stall, if set, holds up who tells of the start of a turn.
	stall atomic.Pointer[chan struct{}]
	// watch is told of all events; nil is nobody.
	watch *monitor.Monitor
}

func (b *box) OnEvent(ctx context.Context, ev hook.Event) {
	if b.watch != nil {
		b.watch.OnEvent(ctx, ev)
	}
	if stall := b.stall.Load(); stall != nil && ev.Kind == event.TurnStart {
		<-*stall
	}
}

func (b *box) OnClose(context.Context) error {
	if b.closed != nil {
		*b.closed = append(*b.closed, "box")
	}
	return nil
}

const schema = `{"type":"object","properties":{"s":{"type":"string"},"n":{"type":"integer"}},"additionalProperties":false}`

func (b *box) Schema() []message.Tool {
	return []message.Tool{
		{Name: "echo", Description: "Says s.", Input: schema},
		{Name: "fail", Description: "Fails.", Input: schema},
		{Name: "danger", Description: "Has to be approved.", Input: schema, Annotations: message.Annotations{Destructive: true}},
		{Name: "hold", Description: "Waits.", Input: schema, Waits: true},
		{Name: "emit", Description: "Emits s events.", Input: schema},
		{Name: "ask", Description: "Asks s.", Input: schema, Waits: true},
		{Name: "deaf", Description: "Ignores its context.", Input: schema, Timeout: time.Millisecond},
	}
}

type boundCall struct {
	b    *box
	tool string
	s    string
}

func (b *box) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	var in struct {
		S string      `json:"s"`
		N json.Number `json:"n,omitzero"`
	}
	switch call.Name() {
	case "echo", "fail", "danger", "hold", "emit", "ask", "deaf":
	default:
		return hook.Invocation{}, false
	}
	if err := json.Unmarshal([]byte(call.Args()), &in); err != nil {
		return hook.BadArgs(call.Args(), &hook.ArgError{Tool: call.Name(), Reason: "must be an object", Schema: schema}), true
	}
	args, _ := json.Marshal(in)
	return hook.Bound(message.JSON(args), &boundCall{b, call.Name(), in.S}), true
}

func (c *boundCall) Run(ctx context.Context, env *hook.Env) message.ToolResult {
	switch c.tool {
	case "fail":
		return message.FailedResult(message.FailOperation, "it did not work")
	case "danger":
		c.b.mu.Lock()
		defer c.b.mu.Unlock()
		c.b.ran = append(c.b.ran, c.s)
	case "hold":
		c.b.held <- struct{}{}
		select {
		case <-c.b.release:
		case <-ctx.Done():
			return message.FailedResult(message.FailCancelled, "cancelled")
		}
	case "deaf":
		<-c.b.release
	case "emit":
		n, _ := strconv.Atoi(c.s)
		for i := range n {
			env.Call.Host().Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: strconv.Itoa(i) + strings.Repeat(".", 100)})
		}
	}
	if c.tool == "ask" {
		return c.ask(ctx, env)
	}
	return message.TextResult("done " + c.s)
}

func (c *boundCall) ask(ctx context.Context, env *hook.Env) message.ToolResult {
	r, err := env.Call.Host().Ask(ctx, hook.Inquiry{ID: env.Key, Timeout: time.Hour, Questions: message.ListOf(
		hook.Question{Header: "One", Text: c.s, Options: message.ListOf(hook.Choice{Label: "yes"}, hook.Choice{Label: "no", Description: "not now"})},
		hook.Question{Text: "And?"},
	)})
	if err != nil {
		return message.FailedResult(message.FailOperation, err.Error())
	}
	text, _ := json.Marshal(r)
	return message.TextResult(string(text))
}

// world is a daemon and a client that goes through a proxy, which compares
// everything with the document.
type world struct {
	t      *testing.T
	o      worldOptions
	dir    string
	box    *box
	store  store.Store
	rt     *runtime.Runtime
	server *api.Server
	// client goes through the proxy and direct does not.
	client, direct *client.Client
	contract       *contract
	proxy          *http.Server

	stop func()
	done chan error
}

type worldOptions struct {
	// record: hook runs are recorded.
	record bool
	api    api.Options
	// store is nil for an empty one.
	store store.Store
	// approval is how asks are answered.
	approval approval.Options
	// recent is that of runtime.Options; 0 is 4096.
	recent int
	// section adds to the prompt of turns; nil adds nothing.
	section *section
	// owner is the id of the node; "" is none.
	owner string
	// end is called after the runtime was closed.
	end func()
}

// newWorld starts a daemon, which the test's end stops.
func newWorld(t *testing.T, o *worldOptions) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "grapnel-") // short enough for a socket
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	w := &world{t: t, dir: dir, contract: newContract(t)}
	if o != nil {
		w.o = *o
	}
	if w.store = w.o.store; w.store == nil {
		w.store = mem.New(nil)
	}
	w.client = client.New(filepath.Join(dir, "proxy.sock"), nil)
	w.direct = client.New(w.socket(), nil)
	w.serveProxy()
	w.start()
	return w
}

func (w *world) socket() string { return filepath.Join(w.dir, "run", "grapnel.sock") }

// start starts the daemon on the socket, over the store that there is.
func (w *world) start() {
	t := w.t
	w.box = &box{held: make(chan struct{}, 1), release: make(chan struct{}, 1), watch: w.o.api.Monitor}
	type hooks struct {
		Ask      *policy.Policy `hook:"BeforeTool: visibility=user"`
		Approval *approval.Approval
		Box      *box
		Section  *section `hook:"optional"`
	}
	asks, err := policy.New(nil, &policy.Options{Default: policy.DefaultAnnotations})
	require.NoError(t, err)
	h, err := composite.New(&hooks{asks, approval.New(&w.o.approval), w.box, w.o.section})
	require.NoError(t, err)
	price := func(_ string, u message.Usage) hook.Cost { return hook.Cost(u.Total()) }
	w.rt = runtime.New(h, model{}, &runtime.Options{Owner: w.o.owner, Node: w.o.owner != "", Store: w.store, Project: w.o.api.Project, Calls: runtime.Calls{Grace: time.Second}, Events: runtime.Events{Recent: cmp.Or(w.o.recent, 4096), RecordHooks: w.o.record}, Price: price})
	require.NoError(t, w.rt.Open(t.Context()))
	_, err = w.rt.Register(t.Context(), hook.AgentConfig{Name: "helper", Description: "Helps.", Instructions: "Help."})
	require.NoError(t, err)
	o := w.o.api
	o.Runtime, o.Store, o.Agent, o.Plan, o.Root, o.State = w.rt, w.store, "helper", cmp.Or(o.Plan, h.Plan()), "/project", w.dir
	o.Tools = func(a *runtime.Agent) []wire.Tool {
		var out []wire.Tool
		for _, tool := range a.Tools().Tools().All() {
			out = append(out, wire.Tool{Name: tool.Name, Owner: "Box", Description: tool.Description, ReadOnly: tool.Name == "echo", Destructive: tool.Name == "danger"})
		}
		out = append(out, wire.Tool{Name: "far", Owner: "Box", Idempotent: true, OpenWorld: true, OutOfScope: "the agent may not"})
		return out
	}
	o.Commands = func(*runtime.Agent) []wire.Command {
		return []wire.Command{{Name: "undo", Argument: "[TURNS]", Help: "Undo."}, {Name: "knots", Skill: true}}
	}
	if o.Explain == nil {
		o.Explain = func(events []hook.Event) wire.Explained { return explain.Explain(events, h.Plan()).Explained }
	}
	w.server = api.New(o)
	ln, err := socket.Listen(t.Context(), w.socket())
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	w.stop, w.done = stop, make(chan error, 1)
	go func() {
		w.done <- w.server.Run(ctx, ln, func(ctx context.Context) error {
			err := w.rt.Close(ctx)
			if w.o.end != nil {
				w.o.end()
			}
			return err
		})
	}()
	t.Cleanup(w.end)
}

// end stops the daemon and waits for its end; it may be called twice.
func (w *world) end() {
	w.stop()
	if w.done != nil {
		assert.NoError(w.t, <-w.done)
		w.done = nil
	}
}

func (w *world) serveProxy() {
	ln, err := net.Listen("unix", w.client.Address())
	require.NoError(w.t, err)
	w.proxy = &http.Server{Handler: w.contract.proxy(&http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", w.socket())
		},
	}), ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.proxy.Serve(ln)
	}()
	w.t.Cleanup(func() {
		assert.NoError(w.t, w.proxy.Shutdown(context.Background()))
		<-done
	})
}

// conversation returns one with a sender.
func (w *world) conversation(sender string) wire.Conversation {
	w.t.Helper()
	conv, err := w.client.Conversation(w.t.Context(), "helper", sender)
	require.NoError(w.t, err)
	return conv
}

// turn runs a turn to its end and returns its events.
func (w *world) turn(id, text string) []hook.Event {
	w.t.Helper()
	turn, err := w.client.Send(w.t.Context(), id, text)
	require.NoError(w.t, err)
	return w.follow(turn, nil)
}

// follow returns the events of a turn; each is shown to see.
func (w *world) follow(turn wire.Turn, see func(ev hook.Event)) []hook.Event {
	w.t.Helper()
	var out []hook.Event
	for item, err := range w.client.Follow(w.t.Context(), turn) {
		require.NoError(w.t, err)
		require.Zero(w.t, item.Missed)
		out = append(out, item.Event)
		if see != nil {
			see(item.Event)
		}
	}
	return out
}

func last(t *testing.T, events []hook.Event) hook.Event {
	t.Helper()
	require.NotEmpty(t, events)
	return events[len(events)-1]
}

// only returns the events of one kind.
func only(events []hook.Event, kind hook.EventKind) []hook.Event {
	var out []hook.Event
	for _, ev := range events {
		if ev.Kind == kind {
			out = append(out, ev)
		}
	}
	return out
}

// inOrder checks that events follow each other without a gap.
func inOrder(t *testing.T, events []hook.Event) {
	t.Helper()
	for i, ev := range events {
		require.Equal(t, events[0].Seq+uint64(i), ev.Seq)
	}
}

func bodyOf(text string) io.Reader { return strings.NewReader(text) }
