package gemini_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/runtime/provider/gemini"
)

const chunkCount = 1000

// longWire is an answer of a thousand chunks as Google sends them.
func longWire() []byte {
	var b bytes.Buffer
	for i := range chunkCount - 1 {
		fmt.Fprintf(&b, `data: {"candidates": [{"content": {"parts": [{"text": " word%d"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 65,"candidatesTokenCount": 16,"totalTokenCount": 192,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 65}],"thoughtsTokenCount": 111},"modelVersion": "gemini-3.1-pro-preview","responseId": "PwCzadquEZ3Vz7IPkKeEoQ4"}`+"\n\n", i)
	}
	b.WriteString(finished("STOP"))
	return b.Bytes()
}

func BenchmarkDecode(b *testing.B) {
	wire := longWire()
	perChunk := func(b *testing.B, read func() int) {
		b.ReportAllocs()
		for b.Loop() {
			if n := read(); n < chunkCount-1 {
				b.Fatal("chunks are missing: ", n)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunkCount, "ns/chunk")
	}
	b.Run("grapnel", func(b *testing.B) {
		p := asks(func(r *http.Request) (*http.Response, error) { return says(bytes.NewReader(wire))(r) })
		perChunk(b, func() int { return drain(p, b) })
	})
	b.Run("limit", func(b *testing.B) { perChunk(b, func() int { return limit(wire) }) })
}

func drain(p *gemini.Provider, tb testing.TB) (n int) {
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

// limit is the least that a decoder has to do: find the lines and the quoted text in them,
// and make a string of it. It checks nothing.
func limit(wire []byte) (n int) {
	lines := bufio.NewReader(bytes.NewReader(wire))
	var text string
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			return n
		}
		from := bytes.Index(line, []byte(`"text": "`))
		if from < 0 {
			continue
		}
		rest := line[from+len(`"text": "`):]
		text = string(rest[:bytes.IndexByte(rest, '"')])
		n += min(len(text), 1)
	}
}

// A chunk costs five allocations at most, however long the answer is.
func TestAllocationsPerChunk(t *testing.T) {
	wire := longWire()
	p := asks(func(r *http.Request) (*http.Response, error) { return says(bytes.NewReader(wire))(r) })
	assert.LessOrEqual(t, allocs.PerRun(10, func() { drain(p, t) }), 5.0*chunkCount)
}

func BenchmarkEncode(b *testing.B) {
	p := asks(func(*http.Request) (*http.Response, error) { return nil, io.ErrClosedPipe })
	signed := own(`"model":"` + modern + `","id":"i1","signature":"` + strings.Repeat("Signature", 40) + `"`)
	for _, n := range []int{1, 100, 10_000} {
		var ms []message.Message
		for len(ms) < n {
			ms = append(ms, message.UserText("Look into the file, please, and tell me what \"it\" says."),
				assistant(call("1", "read", `{"path":"a.txt"}`, signed)), result("1", "read", message.TextResult(strings.Repeat("one line\n", 20))))
		}
		req := message.ModelRequest{Model: message.Model{Name: modern}, Messages: message.MessagesOf(ms[:n]...), Tools: tools(schema)}
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for range p.Stream(b.Context(), req) { // the error of the connection
				}
			}
		})
	}
}
