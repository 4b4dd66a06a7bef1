package message_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// everyMessage is one message of each form, and one with all fields.
func everyMessage() []message.Message {
	text := message.ListOf(message.TextBlock("x"))
	result := message.FailedResult(message.FailDenied, "no")
	return []message.Message{
		{}, message.UserText("hi"), {Role: message.RoleAssistant, Content: text}, {Role: message.RoleAssistant}, {Role: "other", Content: text},
		{Role: message.RoleUser, Content: text, Label: "skill"}, {Role: message.RoleUser, Content: text, Ephemeral: true},
		{Role: message.RoleAssistant, Content: text, From: "guest"}, {Role: message.RoleTool, CallID: "1", Tool: "read", Result: result},
		{Role: message.RoleTool, CallID: "1"}, {Role: message.RoleUser, Tool: "read"}, {Role: message.RoleUser, Result: message.ToolResult{Trust: message.TrustExternal}},
		{Role: message.RoleUser, Content: message.ListOf(message.Block{Kind: message.BlockImage, Data: "AA=="})},
		{Role: message.RoleTool, CallID: "2", Tool: "read", Result: message.ToolResult{Trust: message.TrustWorkspace}},
		{Role: "r", Content: text, CallID: "1", Tool: "t", Result: result, Label: "l", From: "f", Ephemeral: true},
	}
}

func TestMessagesKeepEveryFieldOfAMessage(t *testing.T) {
	t.Parallel()
	want := everyMessage()
	l := message.MessagesOf(want...)
	assert.Equal(t, want, l.Slice())
	for i, m := range l.All() {
		assert.Equal(t, want[i], m)
		assert.Equal(t, want[i], l.At(i))
	}
	got, err := json.Marshal(l)
	require.NoError(t, err)
	as, err := json.Marshal(message.ListOf(want...))
	require.NoError(t, err)
	assert.JSONEq(t, string(as), string(got))
	empty, err := json.Marshal(message.Messages{})
	require.NoError(t, err)
	assert.Equal(t, "[]", string(empty))
	assert.True(t, message.Messages{}.IsZero())
	assert.False(t, l.IsZero())
	assert.Empty(t, message.Messages{}.Slice())
}

// TestMessagesAreWhatSlicesAre makes lists of lists at random, beside plain slices
// that are copied each time: no list may ever change.
func TestMessagesAreWhatSlicesAre(t *testing.T) {
	t.Parallel()
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		type pair struct {
			l message.Messages
			s []message.Message
		}
		all := []pair{{}}
		n, kinds := 0, everyMessage()
		fresh := func() (ms []message.Message) {
			plain := rapid.Bool().Draw(t, "plain")
			for range rapid.SampledFrom([]int{0, 1, 1, 2, 3, 5, 70, 150}).Draw(t, "many") {
				m := kinds[n%len(kinds)]
				if plain {
					m = message.UserText("trusted")
				}
				m.CallID, n = fmt.Sprint(n), n+1
				ms = append(ms, m)
			}
			return ms
		}
		pick := func() pair { return all[rapid.IntRange(max(0, len(all)-5), len(all)-1).Draw(t, "list")] }
		join := func(a, b []message.Message) []message.Message { return append(append([]message.Message{}, a...), b...) }
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			p := pick()
			at := rapid.IntRange(0, len(p.s)).Draw(t, "at")
			switch rapid.SampledFrom([]string{"append", "append", "from", "first", "fork", "split", "join"}).Draw(t, "what") {
			case "append":
				ms := fresh()
				p = pair{p.l.Append(ms...), join(p.s, ms)}
			case "from":
				p = pair{p.l.From(at), p.s[at:]}
			case "first":
				p = pair{p.l.First(at), p.s[:at]}
			case "fork":
				p.l = p.l.Fork()
			case "split":
				p.l = p.l.First(at).Join(p.l.From(at))
			case "join":
				o := pick()
				p = pair{p.l.Join(o.l), join(p.s, o.s)}
			}
			all = append(all, p)
		}
		for _, p := range all {
			require.Equal(t, len(p.s), p.l.Len())
			origin := message.TrustTrusted
			for i, m := range p.l.All() {
				require.Equal(t, p.s[i], m)
				origin = message.Weakest(origin, m.Origin())
			}
			require.Equal(t, origin, p.l.Origin())
			for _, o := range all {
				n := p.l.Shared(o.l)
				require.Equal(t, join(p.s[:n], nil), join(o.s[:n], nil))
			}
		}
	})
}

func TestMessagesOutOfRangePanic(t *testing.T) {
	t.Parallel()
	l := message.MessagesOf(message.UserText("1"), message.UserText("2"), message.UserText("3")).First(2)
	for name, f := range map[string]func(){
		"at -1": func() { l.At(-1) }, "at the end": func() { l.At(2) }, "at of none": func() { message.Messages{}.At(0) },
		"from -1": func() { l.From(-1) }, "from behind": func() { l.From(3) }, "first -1": func() { l.First(-1) }, "first of more": func() { l.First(3) },
	} {
		assert.Panics(t, f, name)
	}
}

// TestMessagesOfManyHolders appends to one list from several goroutines: each sees
// its own, and nobody waits.
func TestMessagesOfManyHolders(t *testing.T) {
	t.Parallel()
	base := message.MessagesOf(message.UserText("0"), message.UserText("1"), message.UserText("2"))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			l := base
			for i := range 200 {
				l = l.Append(message.Message{Role: message.RoleTool, CallID: fmt.Sprint(g, i)})
			}
			for i, m := range l.From(3).All() {
				assert.Equal(t, fmt.Sprint(g, i), m.CallID)
			}
			assert.Equal(t, "2", l.At(2).Text())
		})
	}
	wg.Wait()
	assert.Equal(t, 3, base.Len())
}

// TestMessagesShareWhatTheyHaveInCommon: what is read costs nothing, what is appended
// costs no copy of what is there.
func TestMessagesShareWhatTheyHaveInCommon(t *testing.T) {
	m := message.UserText("x")
	long := message.MessagesOf(m)
	for range 10_000 {
		long = long.Append(m)
	}
	n := 0
	assert.Zero(t, allocs.PerRun(10, func() {
		for _, m := range long.From(3).First(9_000).All() {
			n += m.Content.Len()
		}
		n += long.At(77).Content.Len()
	}))
	assert.Zero(t, allocs.PerRun(10, func() { long = long.Append(m) }), "one piece for 64 messages")
	assert.Zero(t, allocs.PerRun(10, func() { n += long.First(10).Join(long.From(10)).Len() }))
	assert.Equal(t, 5_000, long.Shared(long.First(5_000)))
	assert.Equal(t, 4_990, long.Shared(long.First(5_000).Fork()), "up to the last full piece")
	assert.LessOrEqual(t, allocs.PerRun(10, func() { n += long.First(5_000).Append(m).Len() }), 5.0, "a way of its own shares what is full")
}

// TestMessagesKnowTheirBytes compares with what a walk finds, through every way in
// which lists share messages.
func TestMessagesKnowTheirBytes(t *testing.T) {
	t.Parallel()
	walked := func(l message.Messages) (n int64) {
		for _, m := range l.All() {
			for _, blocks := range []message.List[message.Block]{m.Content, m.Result.Content} {
				for _, b := range blocks.All() {
					n += int64(len(b.Text) + len(b.JSON) + len(b.Data) + len(b.URI) + len(b.Tool))
				}
			}
		}
		return n
	}
	call := message.Message{Role: message.RoleAssistant, Content: message.ListOf(
		message.Block{Kind: message.BlockText, Text: "so"}, message.Block{Kind: message.BlockToolCall, Tool: "t", JSON: `{"a":1}`},
		message.Block{Kind: message.BlockImage, Data: "data", URI: "uri"})}
	result := message.Message{Role: message.RoleTool, CallID: "c", Result: message.TextResult("a result")}
	assert.Zero(t, message.Messages{}.Bytes())
	var l message.Messages
	for i := range 200 {
		l = l.Append(message.UserText(fmt.Sprint(i)), call, result)
		for _, l := range []message.Messages{l, l.From(1), l.From(l.Len() / 2), l.First(l.Len() / 2), l.From(2).First(1), l.From(l.Len())} {
			assert.Equal(t, walked(l), l.Bytes())
			assert.Equal(t, walked(l)+3, l.Append(message.UserText("new")).Bytes(), "appended apart")
			assert.Equal(t, walked(l), l.Fork().Bytes())
		}
	}
}
