package recordings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// New makes the adapter under test: it asks the server at base, "http://host" without a path,
// through the client, and names a model and a key if the wire wants them.
type New func(base string, client *http.Client) provider.Provider

// cuts is the number of places at which each answer is cut off.
const cuts = 12

// Check reads every recording of the wire with the adapter: over a connection, and without one
// in pieces of all, 1 and 7 bytes. Each time the reply has to be what [Read] finds, and what the
// server signed has to be in the metadata of its blocks. A refusal has to be an error in the
// server's words, of the class that its status asks for. Of an answer that is cut off nothing
// may count as complete but the whole.
func Check(t *testing.T, wire Wire, adapter New) {
	t.Helper()
	for _, r := range All(t, wire) {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			for _, problem := range Problems(t, r, adapter) {
				t.Error(problem)
			}
		})
	}
}

// Problems returns what [Check] finds wrong with one recording.
func Problems(t testing.TB, r Recording, adapter New) []string {
	t.Helper()
	c := check{ctx: t.Context(), adapter: adapter, r: r, body: r.Response(t)}
	var err error
	if c.want, err = Read(r, c.body); err != nil {
		t.Fatalf("%s cannot be read: %v", r.Name, err)
	}
	server := httptest.NewServer(Handler(t, r))
	defer server.Close()
	c.how = "over a connection"
	c.compare(c.ask(adapter(server.URL, server.Client())))
	for _, size := range []int{0, 1, 7} {
		c.how = fmt.Sprintf("in pieces of %d bytes", size)
		c.compare(c.play(&replay{Recording: r, body: c.body, piece: size}))
	}
	if c.want.Failure == "" {
		c.cut()
	}
	return c.problems
}

// check is one recording under test.
type check struct {
	ctx     context.Context
	adapter New
	r       Recording
	body    []byte
	want    Answer
	// how says how the body came.
	how      string
	problems []string
}

// wrong adds a problem.
func (c *check) wrong(format string, args ...any) {
	c.problems = append(c.problems, c.how+": "+fmt.Sprintf(format, args...))
}

func (c *check) play(p *replay) (message.ModelReply, error) {
	return c.ask(c.adapter("http://model.test", &http.Client{Transport: p}))
}

func (c *check) ask(p provider.Provider) (message.ModelReply, error) {
	return provider.Collect(p.Stream(c.ctx, message.ModelRequest{
		Model: message.Model{Name: "m"}, Messages: message.MessagesOf(message.UserText("hello")),
	}))
}

func (c *check) compare(reply message.ModelReply, err error) {
	switch {
	case c.want.Failure != "":
		c.failure(err)
	case err != nil:
		c.wrong("the answer is an error: %v", err)
	default:
		metas := c.content(reply)
		for _, text := range c.want.Signed {
			if !strings.Contains(metas, text) {
				c.wrong("what the server signed is in no block's Meta: %.60s", text)
			}
		}
		if reply.Usage != c.want.Usage {
			c.wrong("usage is %+v, want %+v", reply.Usage, c.want.Usage)
		}
	}
}

func (c *check) failure(err error) {
	if err == nil || !strings.Contains(err.Error(), c.want.Failure[:min(len(c.want.Failure), 40)]) {
		c.wrong("the error is %v, and not in the server's words: %s", err, c.want.Failure)
		return
	}
	class, _ := provider.Classify(err)
	switch want, known := classes[c.r.Status]; {
	case known && class != want:
		c.wrong("the class of %d is %q, want %q", c.r.Status, class, want)
	case class == message.FailureProtocol || class == message.FailureNetwork || class == message.FailureUnknown:
		c.wrong("the class %q does not fit an answer of the server", class)
	}
}

// classes are those of statuses that have only one.
var classes = map[int]message.FailureClass{
	http.StatusUnauthorized: message.FailureAuth, http.StatusForbidden: message.FailureAuth, http.StatusTooManyRequests: message.FailureRateLimit,
	http.StatusBadRequest: message.FailureRequest,
}

// content compares texts byte for byte, reasoning without its blanks, arguments as values, and
// the finish. It returns the metadata of all blocks.
func (c *check) content(reply message.ModelReply) (metas string) {
	var a Answer
	for _, b := range reply.Content.All() {
		switch b.Kind {
		case message.BlockText:
			a.Text += b.Text
		case message.BlockReasoning:
			a.Reasoning += b.Text
		case message.BlockToolCall:
			a.Calls = append(a.Calls, Call{ID: b.CallID, Tool: b.Tool, Arguments: string(b.JSON)})
		}
		metas += string(b.Meta) + "\n"
	}
	if a.Text != c.want.Text {
		c.wrong("text is %q, want %q", a.Text, c.want.Text)
	}
	if words(a.Reasoning) != words(c.want.Reasoning) {
		c.wrong("reasoning is %q, want %q", a.Reasoning, c.want.Reasoning)
	}
	ids := map[string]bool{}
	for i, call := range a.Calls {
		if call.ID == "" || ids[call.ID] {
			c.wrong("call %d has the id %q, which is empty or another call's", i, call.ID)
		}
		ids[call.ID] = true
	}
	if got, want := comparable(a.Calls, c.want.Calls), comparable(c.want.Calls, c.want.Calls); !reflect.DeepEqual(got, want) {
		c.wrong("calls are %+v, want %+v", got, want)
	}
	if reply.Finish != c.want.Finish {
		c.wrong("finish is %q, want %q", reply.Finish, c.want.Finish)
	}
	return metas
}

// comparable returns the calls with canonical arguments, and without ids that the server did
// not give.
func comparable(calls, given []Call) []Call {
	var out []Call
	for i, c := range calls {
		if i < len(given) && given[i].ID == "" {
			c.ID = ""
		}
		if c.Arguments == "" {
			c.Arguments = "{}"
		}
		if v := jsontext.Value(c.Arguments); v.Canonicalize() == nil {
			c.Arguments = string(v)
		}
		out = append(out, c)
	}
	return out
}

// cut cuts the answer off, with and without an error of the connection. That is an error, but
// not one of the protocol, or the answer is complete.
func (c *check) cut() {
	for i := range cuts {
		at := len(c.body) * (i + 1) / (cuts + 1)
		for _, end := range []error{nil, io.ErrUnexpectedEOF} {
			c.how = fmt.Sprintf("cut at byte %d of %d", at, len(c.body))
			reply, err := c.play(&replay{Recording: c.r, body: c.body[:at], cut: end})
			if err == nil {
				c.content(reply)
			} else if errors.Is(err, provider.ErrProtocol) {
				c.wrong("the error is one of the protocol: %v", err)
			}
		}
	}
}
