package openai_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

const chunkCount = 1000

// longWire is an answer of a thousand chunks as OpenAI sends them.
func longWire() []byte {
	var b bytes.Buffer
	for i := range chunkCount - 2 {
		fmt.Fprintf(&b, `data: {"id":"chatcmpl-Bx7","object":"chat.completion.chunk","created":1790000000,"model":"gpt-5-2026","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"p2"}`+"\n\n", i)
	}
	b.WriteString(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
		`data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":1000}}` + "\n\n" + done)
	return b.Bytes()
}

func BenchmarkDecode(b *testing.B) {
	wire := longWire()
	perChunk := func(b *testing.B, read func() int) {
		b.ReportAllocs()
		for b.Loop() {
			if n := read(); n < chunkCount-2 {
				b.Fatal("chunks are missing: ", n)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunkCount, "ns/chunk")
	}
	b.Run("grapnel", func(b *testing.B) {
		p := asks(func(r *http.Request) (*http.Response, error) { return serves(bytes.NewReader(wire))(r) }, nil)
		perChunk(b, func() int { return drain(p, b) })
	})
	b.Run("limit", func(b *testing.B) { perChunk(b, func() int { return limit(wire, `"content":"`) }) })
	b.Run("encoding-json", func(b *testing.B) { perChunk(b, func() int { return thin(wire) }) })
}

// longResponse is the same answer as Responses sends it.
func longResponse() []byte {
	var b bytes.Buffer
	b.WriteString(happens(added, `,"output_index":0,"item":{"type":"message","id":"msg_0","status":"in_progress","content":[],"role":"assistant"}`))
	var all strings.Builder
	for i := range chunkCount - 2 {
		fmt.Fprintf(&all, " word%d", i)
		b.WriteString(happens("response.output_text.delta", fmt.Sprintf(`,"sequence_number":%d,"item_id":"msg_0","output_index":0,"content_index":0,"delta":" word%d","logprobs":[],"obfuscation":"p2"`, i+4, i)))
	}
	b.WriteString(happens(doneItem, `,"output_index":0,"item":{"type":"message","id":"msg_0","content":[{"type":"output_text","text":"`+all.String()+`"}]}`) + completed)
	return b.Bytes()
}

// BenchmarkDecodeResponses is BenchmarkDecode on the Responses wire; B/byte is the memory that
// a byte of the stream costs.
func BenchmarkDecodeResponses(b *testing.B) {
	wire := longResponse()
	for _, of := range []struct {
		name string
		read func() int
	}{
		{"grapnel", func() int {
			return drain(asks(func(r *http.Request) (*http.Response, error) { return serves(bytes.NewReader(wire))(r) }, responses()), b)
		}},
		{"limit", func() int { return limit(wire, `"delta":"`) }},
		{"encoding-json", func() int { return thinResponse(wire) }},
	} {
		b.Run(of.name, func(b *testing.B) {
			b.ReportAllocs()
			before := allocated()
			for b.Loop() {
				if n := of.read(); n < chunkCount-2 {
					b.Fatal("chunks are missing: ", n)
				}
			}
			b.ReportMetric(float64(allocated()-before)/float64(b.N)/float64(len(wire)), "B/byte")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/chunkCount, "ns/chunk")
		})
	}
}

// allocated returns the bytes that the program has allocated.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// thinResponse is the decoder of the Responses wire that one writes first.
func thinResponse(wire []byte) (n int) {
	lines := bufio.NewScanner(bytes.NewReader(wire))
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		var event struct {
			Type, Delta string
			OutputIndex int `json:"output_index"`
			Item        *struct{ Type, ID, Name, Arguments string }
			Response    *struct {
				Status string
				Usage  *struct {
					InputTokens int `json:"input_tokens"`
				}
			}
		}
		if json.Unmarshal(data, &event) == nil && event.Type == "response.output_text.delta" && event.Delta != "" {
			n++
		}
	}
	return n
}

func drain(p *openai.Provider, tb testing.TB) (n int) {
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

// limit is the least that a decoder has to do: find the lines and the quoted
// text in them, and make a string of it. It checks nothing.
func limit(wire []byte, before string) (n int) {
	lines := bufio.NewReader(bytes.NewReader(wire))
	var text string
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			return n
		}
		from := bytes.Index(line, []byte(before))
		if from < 0 {
			continue
		}
		rest := line[from+len(before):]
		text = string(rest[:bytes.IndexByte(rest, '"')])
		n += min(len(text), 1)
	}
}

// thin is the decoder that one writes first.
func thin(wire []byte) (n int) {
	lines := bufio.NewScanner(bytes.NewReader(wire))
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok || data[0] != '{' {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   string
					ToolCalls []struct {
						Index    int
						ID       string
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
				FinishReason string `json:"finish_reason"`
			}
			Usage *struct {
				PromptTokens int `json:"prompt_tokens"`
			}
		}
		if json.Unmarshal(data, &chunk) == nil && len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			n++
		}
	}
	return n
}

// A chunk costs four allocations at most, however long the answer is.
func TestAllocationsPerChunk(t *testing.T) {
	for o, wire := range map[*openai.Options][]byte{nil: longWire(), responses(): longResponse()} {
		p := asks(func(r *http.Request) (*http.Response, error) { return serves(bytes.NewReader(wire))(r) }, o)
		allocs := allocs.PerRun(10, func() { drain(p, t) })
		assert.LessOrEqual(t, allocs, 4.0*chunkCount)
	}
}

func BenchmarkEncode(b *testing.B) {
	stop := server(func(*http.Request) (*http.Response, error) { return nil, io.ErrClosedPipe })
	p := asks(stop, nil)
	for _, n := range []int{1, 100, 10_000} {
		var ms []message.Message
		for len(ms) < n {
			ms = append(ms, message.UserText("Look into the file, please, and tell me what \"it\" says."),
				message.Message{Role: message.RoleAssistant, Content: message.ListOf(call("1", "read", `{"path":"a.txt"}`))},
				message.Message{Role: message.RoleTool, CallID: "1", Tool: "read", Result: message.TextResult(strings.Repeat("one line\n", 20))})
		}
		var tools []message.Tool
		for range 64 {
			tools = append(tools, lookup())
		}
		req := message.ModelRequest{Model: message.Model{Name: "m"}, Messages: message.MessagesOf(ms[:n]...), Tools: message.NewToolSet(tools)}
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for range p.Stream(b.Context(), req) {
				}
			}
		})
	}
}
