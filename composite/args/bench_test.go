package args_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	experiment "github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/args"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
)

// three is a usual input: what the figures of this package are about.
type three struct {
	Title string `json:"title"`
	Body  string `json:"body,omitzero"`
	Limit int    `json:"limit,omitzero"`
}

const threeText = `{"title":"Shopping list","body":"Milk, bread and coffee.","limit":25}`

func decodeThree(d *args.Decoder, in *three) {
	o := d.Object()
	for o.Next() {
		switch o.Key() {
		case "title":
			o.Once(0)
			in.Title = d.String()
			d.MaxLen(in.Title, 80)
		case "body":
			o.Once(1)
			in.Body = d.String()
		case "limit":
			o.Once(2)
			in.Limit = int(d.Int(0))
			if in.Limit < 0 || in.Limit > 100 {
				d.Refuse("must lie between 0 and 100")
			}
		default:
			o.Unknown("title", "body", "limit")
		}
	}
	o.Require(0, "title")
}

type threeCall struct{ in three }

func (*threeCall) Run(context.Context, *hook.Env) message.ToolResult { return message.ToolResult{} }

func bindThree(call *hook.ToolCall) hook.Invocation {
	c := &threeCall{}
	d := args.New(call, "")
	decodeThree(&d, &c.in)
	return d.Bind(c)
}

func BenchmarkThreeFields(b *testing.B) {
	c := call(threeText)
	b.Run("args", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if inv := bindThree(c); inv.Err() != nil {
				b.Fatal(inv.Err())
			}
		}
	})
	b.Run("by-hand-lenient", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if inv := bindByHand(c); inv.Err() != nil {
				b.Fatal(inv.Err())
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var in three
			if err := json.Unmarshal([]byte(c.Args()), &in); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("go-json-experiment", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var in three
			if err := experiment.Unmarshal([]byte(c.Args()), &in, experiment.RejectUnknownMembers(true)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

//go:noinline
func bindByHand(call *hook.ToolCall) hook.Invocation {
	c := &threeCall{}
	if !byHand(string(call.Args()), &c.in) {
		return hook.BadArgs(call.Args(), &hook.ArgError{})
	}
	return hook.Bound(call.Args(), c)
}

// byHand is the limit: it reads exactly this shape, and checks next to nothing.
func byHand(s string, in *three) bool {
	s, ok := strings.CutPrefix(s, `{`)
	for ok && s != "" && s[0] == '"' {
		var key, value string
		key, s, _ = strings.Cut(s[1:], `":`)
		if strings.HasPrefix(s, `"`) {
			value, s, _ = strings.Cut(s[1:], `"`)
		} else {
			end := strings.IndexAny(s, ",}")
			value, s = s[:end], s[end:]
		}
		switch key {
		case "title":
			in.Title = value
		case "body":
			in.Body = value
		case "limit":
			n, err := strconv.Atoi(value)
			in.Limit, ok = n, err == nil
		}
		s = strings.TrimPrefix(s, ",")
	}
	return ok && s == "}"
}

func TestThreeFieldsAllocateTheCallAndTheText(t *testing.T) {
	c := call(threeText)
	n := allocs.PerRun(100, func() { _ = bindThree(c) })
	if allocs.Counted {
		require.Equal(t, 2.0, n)
	}
}

func BenchmarkLongText(b *testing.B) {
	c := call(`{"title":"t","body":"` + strings.Repeat(`A line of a file that is written.\n`, 300) + `"}`)
	b.Run("args", func(b *testing.B) {
		b.SetBytes(int64(len(c.Args())))
		b.ReportAllocs()
		for b.Loop() {
			if inv := bindThree(c); inv.Err() != nil {
				b.Fatal(inv.Err())
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		b.SetBytes(int64(len(c.Args())))
		b.ReportAllocs()
		for b.Loop() {
			var in three
			if err := json.Unmarshal([]byte(c.Args()), &in); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCanonical(b *testing.B) {
	for name, text := range map[string]string{"already": threeText, "blanks": strings.ReplaceAll(threeText, `:`, `: `)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := args.Canonical(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
