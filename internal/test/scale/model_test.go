package scale_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// effects is the file of the project into which commands write a line each.
const effects = "effects.txt"

// vendor is a model's server that refuses what the vendor's would. Its model does what an input says, see order.
type vendor struct {
	server  *http.Server
	address string
	strict  *strictwire.Handler
	serving sync.WaitGroup
	// marks numbers the commands, so that each is another one.
	marks atomic.Int64
	// refused counts the requests that broke a rule.
	refused atomic.Int64
	// pace is the time between two deltas of an answer, and job that before the answer to a job.
	pace, job time.Duration

	mu sync.Mutex
	// extracted counts the requests of jobs by the label of the turn that they are about.
	extracted map[string]int
}

func newVendor(pace, job time.Duration) (*vendor, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	v := &vendor{address: "http://" + l.Addr().String(), pace: pace, job: job, extracted: map[string]int{}}
	v.strict = strictwire.New(strictwire.Messages(), provider.Func(v.stream), nil)
	v.server = &http.Server{Handler: http.HandlerFunc(v.serve)}
	v.serving.Go(func() { _ = v.server.Serve(l) })
	return v, nil
}

func (v *vendor) close() {
	_ = v.server.Close()
	v.serving.Wait()
}

func (v *vendor) serve(w http.ResponseWriter, r *http.Request) {
	v.strict.ServeHTTP(&judged{w, v}, r)
}

// judged counts refusals.
type judged struct {
	http.ResponseWriter
	v *vendor
}

// WriteHeader implements http.ResponseWriter.
func (j *judged) WriteHeader(status int) {
	if status == http.StatusBadRequest {
		j.v.refused.Add(1)
	}
	j.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (j *judged) Unwrap() http.ResponseWriter { return j.ResponseWriter }

// order is what an input asks for: so many commands, one after the other, of which so many ask a person.
type order struct {
	label       string
	calls, asks int
}

// String is the text of the input.
func (o order) String() string {
	return fmt.Sprintf("turn %s calls=%d asks=%d", o.label, o.calls, o.asks)
}

// answer is that of a turn whose commands are done: some thirty deltas.
func (o order) answer() string { return "done " + o.label + "." + strings.Repeat(" All is well.", 9) }

var orders = regexp.MustCompile(`turn (\S+) calls=(\d+) asks=(\d+)`)

// ordered finds the order of a text.
func ordered(text string) (o order, ok bool) {
	m := orders.FindStringSubmatch(text)
	if m == nil {
		return order{}, false
	}
	o.label = m[1]
	o.calls, _ = strconv.Atoi(m[2])
	o.asks, _ = strconv.Atoi(m[3])
	return o, true
}

// stream is the model.
func (v *vendor) stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	if strings.HasPrefix(req.System, "You find what an assistant should remember") {
		answer := v.extract(req)
		return func(yield func(message.Chunk, error) bool) {
			if pause(ctx, v.job) {
				v.say(ctx, answer, message.FinishStop)(yield)
			}
		}
	}
	var o order
	done := 0 // replies to the order so far
	for _, m := range req.Messages.All() {
		switch found, ok := ordered(m.Text()); {
		case m.Role == message.RoleUser && ok:
			o, done = found, 0
		case m.Role == message.RoleAssistant:
			done++
		}
	}
	if done < o.calls {
		mark := fmt.Sprintf("%s-%d", o.label, v.marks.Add(1))
		if done < o.asks {
			mark = "ask-" + mark
		}
		return v.call(ctx, "echo "+mark+" >> "+effects)
	}
	return v.say(ctx, o.answer(), message.FinishStop)
}

// extract answers a job that looks for what is worth keeping: nothing.
func (v *vendor) extract(req message.ModelRequest) string {
	for _, m := range req.Messages.All() {
		if o, ok := ordered(m.Text()); ok {
			v.mu.Lock()
			v.extracted[o.label]++
			v.mu.Unlock()
		}
	}
	return `{"memories": []}`
}

// say streams a text in pieces.
func (v *vendor) say(ctx context.Context, text string, finish message.FinishReason) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		for i := 0; i < len(text); i += 4 {
			if !v.wait(ctx) || !yield(message.Chunk{Kind: message.ChunkText, Text: text[i:min(i+4, len(text))]}, nil) {
				return
			}
		}
		yield(message.Chunk{Kind: message.ChunkFinish, Finish: finish, Usage: message.Usage{Input: 1, Output: 1}}, nil)
	}
}

// call streams a call of the tool bash.
func (v *vendor) call(ctx context.Context, command string) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		for _, c := range []message.Chunk{
			{Kind: message.ChunkCallStart, Tool: "bash"},
			{Kind: message.ChunkCallArgs, Text: `{"command": ` + strconv.Quote(command) + `}`},
			{Kind: message.ChunkCallEnd},
			{Kind: message.ChunkFinish, Finish: message.FinishTools, Usage: message.Usage{Input: 1, Output: 1}},
		} {
			if !v.wait(ctx) || !yield(c, nil) {
				return
			}
		}
	}
}

// wait takes the time that a model takes.
func (v *vendor) wait(ctx context.Context) bool { return pause(ctx, v.pace) }

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
