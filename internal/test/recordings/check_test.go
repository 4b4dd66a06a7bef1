package recordings_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/recordings"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// paths are those of the wires' requests.
var paths = map[recordings.Wire]string{
	recordings.Chat: "/v1/chat/completions", recordings.Responses: "/v1/responses", recordings.Anthropic: "/v1/messages",
	recordings.Gemini: "/v1beta/models/m:streamGenerateContent",
}

// adapter is a provider that reads answers with the readers of the package. The change makes it
// a wrong one.
func adapter(r recordings.Recording, change func(*recordings.Answer, *error)) recordings.New {
	return func(base string, client *http.Client) provider.Provider {
		return provider.Func(func(ctx context.Context, _ message.ModelRequest) message.ModelStream {
			return func(yield func(message.Chunk, error) bool) {
				a, err := answer(ctx, r, base, client)
				change(&a, &err)
				if err != nil {
					yield(message.Chunk{}, err)
					return
				}
				for _, c := range chunksOf(a) {
					if !yield(c, nil) {
						return
					}
				}
			}
		})
	}
}

func answer(ctx context.Context, r recordings.Recording, base string, client *http.Client) (a recordings.Answer, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+paths[r.Wire], strings.NewReader("{}"))
	if err != nil {
		return a, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return a, err
	}
	if a, err = recordings.Read(r, body); err == nil && a.Failure != "" {
		class := message.FailureRequest
		switch resp.StatusCode {
		case http.StatusForbidden, http.StatusOK:
			class = message.FailureAuth
		case http.StatusTooManyRequests:
			class = message.FailureRateLimit
		}
		err = &provider.Error{Class: class, Err: errors.New(a.Failure)}
	}
	return a, err
}

func chunksOf(a recordings.Answer) []message.Chunk {
	all := []message.Chunk{{Kind: message.ChunkReasoning, Text: a.Reasoning}, {Kind: message.ChunkText, Text: a.Text}}
	for i, c := range a.Calls {
		id := c.ID
		if id == "" {
			id = "made-up-" + string(rune('a'+i))
		}
		all = append(all, message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: id, Tool: c.Tool},
			message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: c.Arguments}, message.Chunk{Kind: message.ChunkCallEnd, Index: i})
	}
	if len(a.Signed) > 0 {
		all = append(all, message.Chunk{Kind: message.ChunkMeta, Meta: message.JSON(`["` + strings.Join(a.Signed, `","`) + `"]`)})
	}
	return append(all, message.Chunk{Kind: message.ChunkFinish, Finish: a.Finish, Usage: a.Usage})
}

// The readers of the package pass their own check, on every wire: so an adapter of any wire can.
func TestReadersPass(t *testing.T) {
	t.Parallel()
	for wire := range paths {
		for _, r := range recordings.All(t, wire) {
			assert.Empty(t, recordings.Problems(t, r, adapter(r, func(*recordings.Answer, *error) {})), "%s/%s", wire, r.Name)
		}
	}
}

// Check finds everything that an adapter can make of a recording but the right thing.
func TestProblems(t *testing.T) {
	t.Parallel()
	cut := errors.New("cut")
	for name, tt := range map[string]struct {
		change func(*recordings.Answer, *error)
		// of chooses the recordings that the change makes wrong; nil is all that answer.
		of   func(recordings.Answer) bool
		want string
	}{
		"text":         {func(a *recordings.Answer, _ *error) { a.Text += "x" }, nil, "text is"},
		"reasoning":    {func(a *recordings.Answer, _ *error) { a.Reasoning += "x" }, nil, "reasoning is"},
		"lost call":    {func(a *recordings.Answer, _ *error) { a.Calls, a.Signed = a.Calls[:max(len(a.Calls)-1, 0)], nil }, calling, "calls are"},
		"arguments":    {func(a *recordings.Answer, _ *error) { each(a, func(c *recordings.Call) { c.Arguments = `{"x":1}` }) }, calling, "calls are"},
		"name":         {func(a *recordings.Answer, _ *error) { each(a, func(c *recordings.Call) { c.Tool += "x" }) }, calling, "calls are"},
		"one id":       {func(a *recordings.Answer, _ *error) { each(a, func(c *recordings.Call) { c.ID = "a" }) }, parallel, "which is empty or another call's"},
		"finish":       {func(a *recordings.Answer, _ *error) { a.Finish = message.FinishOther }, nil, "finish is"},
		"usage":        {func(a *recordings.Answer, _ *error) { a.Usage.Reasoning++ }, nil, "usage is"},
		"signature":    {func(a *recordings.Answer, _ *error) { a.Signed = nil }, signed, "in no block's Meta"},
		"an error":     {func(_ *recordings.Answer, err *error) { *err = cut }, nil, "the answer is an error"},
		"no error":     {func(a *recordings.Answer, err *error) { a.Finish, *err = message.FinishStop, nil }, failed, "the error is <nil>"},
		"other words":  {func(_ *recordings.Answer, err *error) { *err = cut }, failed, "not in the server's words"},
		"no class":     {func(a *recordings.Answer, err *error) { *err = errors.New(a.Failure) }, failed, "the class"},
		"cut is whole": {func(a *recordings.Answer, err *error) { a.Finish, *err = message.FinishStop, nil }, long, "cut at byte"},
		"cut is broken": {func(_ *recordings.Answer, err *error) {
			if *err != nil {
				*err = provider.ErrProtocol
			}
		}, long, "the error is one of the protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := 0
			for wire := range paths {
				for _, r := range recordings.All(t, wire)[:5] {
					found += wrong(t, r, tt.change, tt.of, tt.want)
				}
				for _, r := range recordings.All(t, wire) {
					if r.Refused() {
						found += wrong(t, r, tt.change, tt.of, tt.want)
					}
				}
			}
			assert.Positive(t, found, "there is no recording for this")
		})
	}
}

// wrong checks a recording with a wrong adapter, if the change makes it wrong.
func wrong(t *testing.T, r recordings.Recording, change func(*recordings.Answer, *error), of func(recordings.Answer) bool, want string) int {
	t.Helper()
	a, err := recordings.Read(r, r.Response(t))
	if err != nil {
		t.Fatal(err)
	}
	if of == nil && a.Failure != "" || of != nil && !of(a) {
		return 0
	}
	assert.Contains(t, strings.Join(recordings.Problems(t, r, adapter(r, change)), "\n"), want, r.Name)
	return 1
}

func each(a *recordings.Answer, change func(*recordings.Call)) {
	for i := range a.Calls {
		change(&a.Calls[i])
	}
}

func calling(a recordings.Answer) bool  { return len(a.Calls) > 0 }
func parallel(a recordings.Answer) bool { return len(a.Calls) > 1 }
func signed(a recordings.Answer) bool   { return len(a.Signed) > 0 }
func failed(a recordings.Answer) bool   { return a.Failure != "" }
func long(a recordings.Answer) bool     { return len(a.Text) > 400 || len(a.Calls) > 1 }
