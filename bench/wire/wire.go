// Package wire serves an answer of many chunks, as OpenAI streams it, from memory:
// the scenario Stream.
package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Chunks is how many there are in an answer. The last two have no text: one says
// why it ends, the other what it has cost.
const Chunks = 1000

// Answer is the body of the answer.
func Answer() []byte {
	var b bytes.Buffer
	for i := range Chunks - 2 {
		fmt.Fprintf(&b, `data: {"id":"chatcmpl-Bx7","object":"chat.completion.chunk","created":1790000000,"model":"gpt-5-2026","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":"%s"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"p2"}`+"\n\n", text(i))
	}
	const head = `data: {"id":"chatcmpl-Bx7","object":"chat.completion.chunk","created":1790000000,"model":"gpt-5-2026","choices":`
	b.WriteString(head + `[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}` + "\n\n")
	b.WriteString(head + `[],"usage":{"prompt_tokens":10,"completion_tokens":1000,"total_tokens":1010}}` + "\n\n")
	b.WriteString("data: [DONE]\n\n")
	return b.Bytes()
}

// text is that of one chunk.
func text(i int) string { return fmt.Sprintf(" word%d", i) }

// Heard is what a reader of the answer has read in it.
type Heard struct {
	// Texts is the number of chunks with text, Bytes their length together.
	Texts, Bytes int
	// Finish is the reason that was given for the end.
	Finish string
	// Input and Output are the tokens used.
	Input, Output int64
}

// Add counts a piece of text.
func (h *Heard) Add(text string) {
	h.Texts++
	h.Bytes += len(text)
}

// All is what there is to be heard.
func All() Heard {
	all := Heard{Finish: "stop", Input: 10, Output: 1000}
	for i := range Chunks - 2 {
		all.Add(text(i))
	}
	return all
}

// Reader asks for the answer and reads all of it.
type Reader interface {
	Read(ctx context.Context) (Heard, error)
}

// Memory answers every request with one body, in process.
type Memory struct{ Body []byte }

// RoundTrip implements http.RoundTripper.
func (m Memory) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		return nil, fmt.Errorf("wire: %s is not asked for here", r.URL.Path)
	}
	if r.Body != nil {
		if err := r.Body.Close(); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body:   io.NopCloser(bytes.NewReader(m.Body)), ContentLength: -1, Request: r,
	}, nil
}

// Client is an HTTP client that gets the body from memory.
func Client(body []byte) *http.Client { return &http.Client{Transport: Memory{body}} }
