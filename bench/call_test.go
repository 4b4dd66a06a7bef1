package bench_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/bench/peers/eino"
	"github.com/grapnel-go/grapnel/bench/peers/genkit"
	"github.com/grapnel-go/grapnel/bench/peers/langchaingo"
	"github.com/grapnel-go/grapnel/bench/peers/limit"
	"github.com/grapnel-go/grapnel/bench/peers/mcpgo"
	"github.com/grapnel-go/grapnel/bench/peers/mcpsdk"
	"github.com/grapnel-go/grapnel/bench/subject"
	"github.com/grapnel-go/grapnel/bench/typed"
	"github.com/grapnel-go/grapnel/bench/work"
)

var errNotCalled = errors.New("the tool was not called once")

// calling makes a subject of a caller. It fails if the tool was not called once, with
// the right arguments, or if its answer did not come back.
func calling(name string, caller func(context.Context, work.Finder) (work.Caller, error)) subject.Subject {
	return subject.Subject{Name: name, New: func(tb testing.TB) func() error {
		var called atomic.Int64 // by another goroutine, where a protocol is between
		ctx := tb.Context()
		c, err := caller(ctx, func(in work.Input) (work.Answer, error) {
			called.Add(1)
			return work.Find(in)
		})
		require.NoError(tb, err)
		if c.Close != nil {
			tb.Cleanup(func() { assert.NoError(tb, c.Close()) })
		}
		want := int64(0)
		return func() error {
			want++
			switch text, err := c.Call(ctx, work.Args); {
			case err != nil:
				return err
			case called.Load() != want:
				return errNotCalled
			case !work.IsResult(text):
				return fmt.Errorf("the answer is %s and not %s", text, work.Result)
			}
			return nil
		}
	}}
}

// local is a caller that nothing can go wrong with when it is made.
func local(caller func(work.Finder) work.Caller) func(context.Context, work.Finder) (work.Caller, error) {
	return func(_ context.Context, find work.Finder) (work.Caller, error) { return caller(find), nil }
}

func callers() []subject.Subject {
	return []subject.Subject{
		calling("limit-codec", local(limit.CodecCaller)),
		calling("limit", local(limit.Caller)),
		calling("grapnel", local(typed.Caller)),
		calling("eino", func(_ context.Context, find work.Finder) (work.Caller, error) { return eino.Caller(find) }),
		calling("langchaingo", local(langchaingo.Caller)),
		calling("mcp-go", local(mcpgo.Caller)),
		calling("mcp-go-sdk", mcpsdk.Caller),
		calling("genkit", func(ctx context.Context, find work.Finder) (work.Caller, error) { return genkit.Caller(ctx, find), nil }),
	}
}

// BenchmarkCall measures one call of a typed tool: its arguments are decoded, it is
// called, and its answer is encoded.
func BenchmarkCall(b *testing.B) { subject.Bench(b, callers()) }

func TestCall(t *testing.T) { subject.Check(t, callers()) }

func TestCallsThatAreNotDoneAreFound(t *testing.T) {
	answers := func(text string) func(context.Context, work.Finder) (work.Caller, error) {
		return local(func(work.Finder) work.Caller {
			return work.Caller{Call: func(context.Context, string) (string, error) { return text, nil }}
		})
	}
	calls := func(find func(work.Finder) (work.Answer, error)) func(context.Context, work.Finder) (work.Caller, error) {
		return local(func(f work.Finder) work.Caller {
			return work.Caller{Call: func(context.Context, string) (string, error) {
				out, err := find(f)
				return fmt.Sprintf(`{"title":%q,"found":%d}`, out.Title, out.Found), err
			}}
		})
	}
	right := work.Input{Title: "Shopping list", Limit: 25}
	subject.Catch(t, []subject.Subject{
		calling("nobody is called", answers(work.Result)),
		calling("it is called twice", calls(func(f work.Finder) (work.Answer, error) {
			if out, err := f(right); err != nil {
				return out, err
			}
			return f(right)
		})),
		calling("the arguments are not decoded", calls(func(f work.Finder) (work.Answer, error) { return f(work.Input{}) })),
		calling("the answer is another", calls(func(f work.Finder) (work.Answer, error) {
			_, err := f(right)
			return work.Answer{}, err
		})),
	})
}
