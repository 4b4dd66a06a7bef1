package anthropic_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/runtime/provider/anthropic"
)

const chunkCount = 1000

// longWire is an answer of a thousand chunks.
func longWire() string {
	events := []string{begin, starts(0, `{"type":"text","text":""}`)}
	for i := range chunkCount {
		events = append(events, adds(0, fmt.Sprintf(`{"type":"text_delta","text":" word%d"}`, i)))
	}
	return says(append(events, ends(0), stops("end_turn"), halt)...)
}

func streams(wire string) server {
	return func(r *http.Request) (*http.Response, error) { return serves(strings.NewReader(wire))(r) }
}

func drain(p *anthropic.Provider, tb testing.TB) (n int) {
	for c, err := range p.Stream(tb.Context(), hello()) {
		if err != nil {
			tb.Fatal(err)
		}
		if c.Kind == message.ChunkText {
			n++
		}
	}
	return n
}

// limit is the least that a decoder has to do: find the lines and the quoted text in them, and
// make a string of it. It checks nothing.
func limit(wire string) (n int) {
	lines := bufio.NewReader(strings.NewReader(wire))
	var text string
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			return n
		}
		from := bytes.Index(line, []byte(`"text_delta","text":"`))
		if from < 0 {
			continue
		}
		rest := line[from+len(`"text_delta","text":"`):]
		text = string(rest[:bytes.IndexByte(rest, '"')])
		n += min(len(text), 1)
	}
}

func BenchmarkDecode(b *testing.B) {
	wire := longWire()
	run := func(name string, read func() int) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for b.Loop() {
				if n := read(); n < chunkCount {
					b.Fatal("chunks are missing: ", n)
				}
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunkCount, "ns/chunk")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/float64(len(wire)), "B/streamed-B")
		})
	}
	p := asks(streams(wire), nil)
	run("grapnel", func() int { return drain(p, b) })
	run("limit", func() int { return limit(wire) })
}

// A chunk costs three allocations at most, however long the answer is.
func TestAllocationsPerChunk(t *testing.T) {
	wire := longWire()
	p := asks(streams(wire), nil)
	assert.LessOrEqual(t, allocs.PerRun(5, func() { drain(p, t) }), 3.0*chunkCount)
}

func long(n int) message.ModelRequest {
	var ms []message.Message
	for len(ms) < n {
		// The id is one of a server that counts anew in each answer.
		ms = append(ms, message.UserText("Look into the file, please, and tell me what \"it\" says."),
			assistant(call("call_0", "read", `{"path":"a.txt"}`)), result("call_0", message.TextBlock(strings.Repeat("one line\n", 20))))
	}
	return message.ModelRequest{Model: message.Model{Name: adaptive}, Messages: message.MessagesOf(ms[:n]...)}
}

// The cost of a request grows with its history and not with the square of it.
func TestEncodingGrowsWithTheHistory(t *testing.T) {
	p := asks(func(*http.Request) (*http.Response, error) { return nil, io.ErrClosedPipe }, nil)
	cost := func(n int) float64 {
		req := long(n)
		return allocs.PerRun(3, func() {
			for range p.Stream(t.Context(), req) {
			}
		})
	}
	assert.LessOrEqual(t, cost(3000), 12*cost(300))
}

func BenchmarkEncode(b *testing.B) {
	p := asks(func(*http.Request) (*http.Response, error) { return nil, io.ErrClosedPipe }, nil)
	for _, n := range []int{1, 99, 9999} {
		req := long(n)
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for range p.Stream(b.Context(), req) {
				}
			}
		})
	}
}
