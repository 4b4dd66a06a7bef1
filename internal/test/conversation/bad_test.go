package conversation_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// each returns a request whose messages f has changed.
func each(req message.ModelRequest, f func(m *message.Message)) message.ModelRequest {
	ms := req.Messages.Slice()
	for i := range ms {
		f(&ms[i])
	}
	req.Messages = message.MessagesOf(ms...)
	return req
}

// blocks changes the blocks of answers.
func blocks(f func(b *message.Block)) func(m *message.Message) {
	return func(m *message.Message) {
		if m.Role != message.RoleAssistant {
			return
		}
		content := m.Content.Slice()
		for i := range content {
			f(&content[i])
		}
		m.Content = message.ListOf(content...)
	}
}

// forgetful sends back nothing that servers have signed.
func forgetful(req message.ModelRequest) message.ModelRequest {
	return each(req, blocks(func(b *message.Block) { b.Meta = "" }))
}

// chatty sends the reasoning of all models as text.
func chatty(req message.ModelRequest) message.ModelRequest {
	return each(req, blocks(func(b *message.Block) {
		if b.Kind == message.BlockReasoning && b.Text != "" {
			b.Kind = message.BlockText
		}
	}))
}

var signature = regexp.MustCompile(`"(?:signature|encrypted)":"([^"]+)"`)

// greedy takes what other vendors have signed for its own.
func greedy(req message.ModelRequest) message.ModelRequest {
	vendor := "openai"
	if v, _, _ := strings.Cut(req.Model.Name, "-"); v == "claude" {
		vendor = "anthropic"
	} else if v == "gemini" {
		vendor = v
	}
	return each(req, func(m *message.Message) {
		stolen := ""
		for _, b := range m.Content.All() {
			if found := signature.FindStringSubmatch(string(b.Meta)); found != nil && !strings.Contains(string(b.Meta), `"`+vendor+`"`) {
				stolen = found[1]
			}
		}
		if stolen != "" {
			blocks(func(b *message.Block) {
				b.Meta = provider.Meta(vendor, map[string]string{"model": req.Model.Name, "signature": stolen, "encrypted": stolen})
			})(m)
		}
	})
}

// disordered changes the places of two words of the user's.
func disordered(req message.ModelRequest) message.ModelRequest {
	ms := req.Messages.Slice()
	first := slices.IndexFunc(ms, func(m message.Message) bool { return m.Role == message.RoleUser })
	last := len(ms) - 1
	for last > first && ms[last].Role != message.RoleUser {
		last--
	}
	ms[first], ms[last] = ms[last], ms[first]
	req.Messages = message.MessagesOf(ms...)
	return req
}

// repetitive sends the first answer twice.
func repetitive(req message.ModelRequest) message.ModelRequest {
	ms := req.Messages.Slice()
	if i := slices.IndexFunc(ms, func(m message.Message) bool { return m.Role == message.RoleAssistant }); i >= 0 {
		req.Messages = message.MessagesOf(slices.Insert(ms, i, ms[i])...)
	}
	return req
}

// kind hides that a tool has failed.
func kind(req message.ModelRequest) message.ModelRequest {
	return each(req, func(m *message.Message) { m.Result.Failure = "" })
}

// blind leaves images out.
func blind(req message.ModelRequest) message.ModelRequest {
	without := func(l message.List[message.Block]) message.List[message.Block] {
		return message.ListOf(slices.DeleteFunc(l.Slice(), func(b message.Block) bool { return b.Kind == message.BlockImage })...)
	}
	return each(req, func(m *message.Message) { m.Content, m.Result.Content = without(m.Content), without(m.Result.Content) })
}

// restless says something else in each request.
func restless() wrap {
	n := 0
	return func(req message.ModelRequest) message.ModelRequest {
		n++
		req.System += fmt.Sprintf(" This is request %d.", n)
		return req
	}
}

// crossed gives the results of parallel calls to each other's calls.
func crossed(req message.ModelRequest) message.ModelRequest {
	ms := req.Messages.Slice()
	for i := range ms {
		if i > 0 && ms[i].Role == message.RoleTool && ms[i-1].Role == message.RoleTool {
			ms[i].Result, ms[i-1].Result = ms[i-1].Result, ms[i].Result
		}
	}
	req.Messages = message.MessagesOf(ms...)
	return req
}

// TestBadAdapters: the checks find adapters that break the rules.
func TestBadAdapters(t *testing.T) {
	t.Parallel()
	const all = "chat responses messages gemini"
	for _, tc := range []struct {
		name string
		bad  func() wrap
		// alone are the wires on which it shows in a conversation with one vendor, and from
		// those of the vendors from which a switch has to show it on each wire of to.
		alone, from, to string
		// want is in one of the problems.
		want string
	}{
		{name: "forgetful", bad: same(forgetful), alone: "responses messages gemini", want: "it does not get back what it has signed"},
		{name: "chatty", bad: same(chatty), from: "messages gemini", to: all, want: "it gets the thought"},
		{name: "greedy", bad: same(greedy), from: "responses messages gemini", to: "responses messages gemini", want: "it gets what was signed for"},
		{name: "disordered", bad: same(disordered), alone: all, want: "the request says"},
		{name: "repetitive", bad: same(repetitive), alone: all, want: "the request says"},
		{name: "kind", bad: same(kind), alone: "messages gemini", want: "failed results are marked"},
		{name: "blind", bad: same(blind), alone: all, want: "images and"},
		{name: "restless", bad: restless, alone: all, want: "does not continue the one before"},
		{name: "crossed", bad: same(crossed), alone: all, want: "answers the call"},
	} {
		for i, w := range wires {
			if strings.Contains(tc.alone, w.name) {
				caught(t, tc.name+" on "+w.name, switches("", i, 0, i, 0), tc.bad(), tc.want)
			}
			for k, to := range wires {
				if i != k && strings.Contains(tc.from, w.name) && strings.Contains(tc.to, to.name) {
					caught(t, tc.name+" from "+w.name+" to "+to.name, switches("", i, 0, k, 0), tc.bad(), tc.want)
				}
			}
		}
	}
}

func same(w wrap) func() wrap { return func() wrap { return w } }

func caught(t *testing.T, name string, p plan, bad wrap, want string) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		s := p.stage(t, bad)
		problems := p.play(t, s, 9, twelve)
		assert.True(t, slices.ContainsFunc(problems, func(problem string) bool { return strings.Contains(problem, want) }),
			"no problem says %q: %s", want, strings.Join(problems, "\n"))
	})
}
