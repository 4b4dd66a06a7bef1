package conversation_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// turn is one turn of a script. Every text has a word of its own, such as ~u07~, by which the
// checks find it in the bodies of requests: u is said by the user, a by the model, c is an
// argument, r a result, t a thought, s a summary.
type turn struct {
	input   []message.Block
	replies []reply
	stop    hook.StopReason // "" is StopCompleted
	// says is in the answer; "" is nothing.
	says string
	// silent: the turn has no answer, so that the next user's message joins this one's.
	silent bool
	// runs are the words of the calls that must run, each once.
	runs []string
}

// reply is what the model behind a server answers, by the wire.
type reply func(wire string) answer

// answer is the chunks of an answer, and the error that ends it; without one the last chunk is
// its finish.
type answer struct {
	chunks []message.Chunk
	err    error
	// stops: the user stops the turn in the middle of the answer.
	stops bool
}

// Media. No server looks into them.
const (
	png = "iVBORw0KGgo="
	pdf = "JVBERi0xLjcK"
	ogg = "T2dnUwACAAAA"
)

func word(kind string, n int, more ...int) string {
	s := fmt.Sprintf("~%s%02d", kind, n)
	for _, i := range more {
		s += fmt.Sprintf(".%d", i)
	}
	return s + "~"
}

func user(n int, more ...message.Block) []message.Block {
	return append([]message.Block{message.TextBlock("Please " + word("u", n))}, more...)
}

// builder collects the chunks of an answer.
type builder struct {
	n      int // the turn
	wire   string
	chunks []message.Chunk
	calls  int
}

func (b *builder) add(c ...message.Chunk) *builder {
	b.chunks = append(b.chunks, c...)
	return b
}

func (b *builder) text(i int) *builder {
	return b.add(message.Chunk{Kind: message.ChunkText, Text: "I say "}, message.Chunk{Kind: message.ChunkText, Text: word("a", b.n, i) + "."})
}

func (b *builder) think(i int) *builder {
	return b.add(message.Chunk{Kind: message.ChunkReasoning, Text: "Let me see "}, message.Chunk{Kind: message.ChunkReasoning, Text: word("t", b.n, i)})
}

func (b *builder) direct(d strictwire.Directive) *builder {
	return b.add(message.Chunk{Kind: message.ChunkMeta, Meta: provider.Meta("strictwire", d)})
}

// call adds a call; how is what the tool does.
func (b *builder) call(i int, how string) *builder {
	at := b.calls
	b.calls++
	return b.add(
		message.Chunk{Kind: message.ChunkCallStart, Index: at, CallID: fmt.Sprint("c", at), Tool: "look"},
		message.Chunk{Kind: message.ChunkCallArgs, Index: at, Text: `{"how":"` + how + `",`},
		message.Chunk{Kind: message.ChunkCallArgs, Index: at, Text: `"word":"` + word("c", b.n, i) + `"}`},
		message.Chunk{Kind: message.ChunkCallEnd, Index: at})
}

func (b *builder) end(f message.FinishReason) answer {
	if f == message.FinishStop && b.calls > 0 {
		f = message.FinishTools
	}
	return answer{chunks: append(b.chunks, message.Chunk{Kind: message.ChunkFinish, Finish: f})}
}

// says is a reply without special ends.
func says(n int, fill func(b *builder)) reply {
	return func(wire string) answer {
		b := &builder{n: n, wire: wire}
		fill(b)
		return b.end(message.FinishStop)
	}
}

func plain(n, i int) reply { return says(n, func(b *builder) { b.text(i) }) }

// completed is a turn that ends with the text a.1.
func completed(n int, input []message.Block, calls int, replies ...reply) turn {
	t := turn{input: input, replies: append(replies, plain(n, 1)), says: word("a", n, 1)}
	for i := range calls {
		t.runs = append(t.runs, word("c", n, i))
	}
	return t
}

func plainTurn(n int) turn {
	return completed(n, user(n), 0)
}

// picture is a turn in which a model that can makes an image.
func pictureTurn(n int) turn {
	return turn{input: user(n), says: word("a", n, 1), replies: []reply{says(n, func(b *builder) {
		b.text(1)
		if b.wire == "gemini" {
			b.add(message.Chunk{Kind: message.ChunkBlock, Block: &message.Block{Kind: message.BlockImage, MIME: "image/png", Data: png}})
		}
	})}}
}

func toolTurn(n int) turn {
	return completed(n, user(n), 1, says(n, func(b *builder) { b.call(0, "") }))
}

func parallelTurn(n int) turn {
	return completed(n, user(n), 3, says(n, func(b *builder) { b.text(0).call(0, "").call(1, "").call(2, "") }))
}

// thinkingTurn has reasoning before a tool, and behind it.
func thinkingTurn(n int) turn {
	t := completed(n, user(n), 2,
		says(n, func(b *builder) {
			if b.wire == "messages" {
				b.direct(strictwire.Directive{Redacted: "secret thoughts"})
			}
			b.think(0).call(0, "")
		}),
		says(n, func(b *builder) { b.think(1).text(0).call(1, "") }))
	t.replies[2] = says(n, func(b *builder) {
		b.think(2).text(1)
		if b.wire == "gemini" {
			b.direct(strictwire.Directive{Signed: true})
		}
	})
	return t
}

func failingTurn(n int) turn {
	return completed(n, user(n), 2, says(n, func(b *builder) { b.call(0, "fail").call(1, "") }))
}

func seenTurn(n int) turn {
	return completed(n, user(n, message.Block{Kind: message.BlockImage, MIME: "image/png", Data: png}), 0)
}

func shownTurn(n int) turn {
	return completed(n, user(n), 2, says(n, func(b *builder) { b.call(0, "show").call(1, "document") }))
}

// readTurn has a PDF, and a recording where the vendor takes it.
func readTurn(n int, wire string) turn {
	more := []message.Block{{Kind: message.BlockDocument, MIME: "application/pdf", Data: pdf, Name: "plan.pdf"}}
	if wire == "gemini" {
		more = append(more, message.Block{Kind: message.BlockAudio, MIME: "audio/ogg", Data: ogg})
	}
	return completed(n, user(n, more...), 0)
}

// mixedTurn has reasoning, texts and calls in turns. Text stands behind a call where the
// vendor's models do that.
func mixedTurn(n int) turn {
	return completed(n, user(n), 3,
		says(n, func(b *builder) {
			b.think(0).text(0)
			switch b.wire {
			case "messages":
				b.think(1).text(2).call(0, "").call(1, "")
			default:
				b.call(0, "").text(2).call(1, "").text(3)
			}
		}),
		says(n, func(b *builder) { b.think(2).call(2, "show") }))
}

// refusedTurn is a turn that the model refuses, in the way of the wire.
func refusedTurn(n int, wire string) turn {
	return turn{input: user(n), stop: hook.StopRefused, silent: wire == "gemini", replies: []reply{func(wire string) answer {
		b := &builder{n: n, wire: wire}
		switch wire {
		case "chat", "responses":
			b.direct(strictwire.Directive{Refusal: "I do not do " + word("a", n, 1)})
		case "messages":
			b.text(1).direct(strictwire.Directive{Refusal: "cyber"})
		default:
			b.direct(strictwire.Directive{Blocked: "SAFETY"})
		}
		return b.end(message.FinishFilter)
	}}}
}

func fails(class message.FailureClass, before func(b *builder)) reply {
	return func(wire string) answer {
		b := &builder{n: 99, wire: wire}
		before(b)
		return answer{chunks: b.chunks, err: &provider.Error{Class: class, Err: errors.New("the model is down")}}
	}
}

// cutTurn fails before the answer, within it, and with the connection; then comes a call that
// is cut, where the wire can show one, and a text that is cut.
func cutTurn(n int, wire string) turn {
	t := turn{input: user(n), stop: hook.StopMaxTokens, says: word("a", n, 1), replies: []reply{
		fails(message.FailureOverloaded, func(*builder) {}),
		fails(message.FailureNetwork, func(b *builder) { b.think(0).text(0).call(0, "") }),
		fails(message.FailureOverloaded, func(b *builder) { b.think(1).text(1).call(1, "") }),
	}}
	if wire != "gemini" {
		t.replies = append(t.replies, func(wire string) answer {
			b := &builder{n: n, wire: wire}
			b.text(0).call(0, "")
			b.chunks = b.chunks[:len(b.chunks)-2]
			return b.end(message.FinishLength)
		})
	}
	t.replies = append(t.replies, func(wire string) answer {
		b := &builder{n: n, wire: wire}
		return b.text(1).end(message.FinishLength)
	})
	return t
}

// stoppedTurn is one that the user stops, while a tool runs or in the middle of an answer.
func stoppedTurn(n int, inTool bool) turn {
	t := turn{input: user(n), stop: hook.StopUserRequested}
	if inTool {
		t.runs = []string{word("c", n, 0)}
		t.replies = []reply{says(n, func(b *builder) { b.think(0).text(0).call(0, "stop") })}
		return t
	}
	t.replies = []reply{func(wire string) answer {
		b := &builder{n: n, wire: wire}
		return answer{chunks: b.think(0).text(0).chunks, stops: true}
	}}
	return t
}

// steeredTurn is one in which the user says something while a tool runs.
func steeredTurn(n int) turn {
	return completed(n, user(n), 2, says(n, func(b *builder) { b.think(0).call(0, "steer") }), says(n, func(b *builder) { b.call(1, "show") }))
}

// twelve returns turn n of the conversation of twelve, counted from 1, on a wire.
func twelve(n int, wire string) turn {
	switch n {
	case 1:
		return pictureTurn(n)
	case 2:
		return toolTurn(n)
	case 3:
		return parallelTurn(n)
	case 5:
		return failingTurn(n)
	case 6:
		return seenTurn(n)
	case 7:
		return shownTurn(n)
	case 8:
		return readTurn(n, wire)
	case 9:
		return mixedTurn(n)
	case 10:
		return refusedTurn(n, wire)
	case 11:
		return cutTurn(n, wire)
	}
	return thinkingTurn(n)
}

// steady returns turn n, of the kind k, of a conversation in which nothing goes wrong.
func steady(k, n int, wire string) turn {
	all := []func(int) turn{thinkingTurn, plainTurn, pictureTurn, toolTurn, parallelTurn, failingTurn, seenTurn, shownTurn,
		func(n int) turn { return readTurn(n, wire) }, mixedTurn}
	return all[k%len(all)](n)
}

func isSummary(ms message.Messages) bool {
	return slices.ContainsFunc(ms.Slice(), func(m message.Message) bool { return m.Label == message.LabelCompaction })
}
