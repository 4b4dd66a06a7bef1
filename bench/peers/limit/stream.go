package limit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/grapnel-go/grapnel/bench/wire"
)

// Thin reads a stream with net/http and encoding/json: what one writes first. It
// knows the fields that are asked for and no others.
type Thin struct{ Client *http.Client }

// Codec reads a stream by looking for the quoted text in each line. It is the least
// that a reader has to do: it checks nothing, and reads nothing but the one form
// in which wire.Answer writes.
type Codec struct{ Client *http.Client }

var (
	_ wire.Reader = Thin{}
	_ wire.Reader = Codec{}
)

// ask sends the request and hands out the lines of the answer that have data.
func ask(ctx context.Context, c *http.Client, each func(data []byte) error) error {
	body := strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hello"}],"stream":true,"stream_options":{"include_usage":true}}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://memory.test/v1/chat/completions", body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer sk-bench")
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("limit: %s", resp.Status)
	}
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return err
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		data = bytes.TrimRight(data, "\n")
		if string(data) == "[DONE]" {
			return nil
		}
		if err := each(data); err != nil {
			return err
		}
	}
}

// chunk is what Thin decodes.
type chunk struct {
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
		PromptTokens     int64 `json:"prompt_tokens"`
		CompletionTokens int64 `json:"completion_tokens"`
	}
}

// Read implements wire.Reader.
func (t Thin) Read(ctx context.Context) (heard wire.Heard, err error) {
	err = ask(ctx, t.Client, func(data []byte) error {
		var c chunk
		if err := json.Unmarshal(data, &c); err != nil {
			return err
		}
		if len(c.Choices) > 0 {
			if text := c.Choices[0].Delta.Content; text != "" {
				heard.Add(text)
			}
			if finish := c.Choices[0].FinishReason; finish != "" {
				heard.Finish = finish
			}
		}
		if c.Usage != nil {
			heard.Input, heard.Output = c.Usage.PromptTokens, c.Usage.CompletionTokens
		}
		return nil
	})
	return heard, err
}

// Read implements wire.Reader.
func (c Codec) Read(ctx context.Context) (heard wire.Heard, err error) {
	err = ask(ctx, c.Client, func(data []byte) error {
		if text, ok := between(data, `"content":"`, '"'); ok {
			heard.Add(string(text))
			return nil
		}
		if finish, ok := between(data, `"finish_reason":"`, '"'); ok {
			heard.Finish = string(finish)
			return nil
		}
		in, ok := between(data, `"prompt_tokens":`, ',')
		out, also := between(data, `"completion_tokens":`, ',')
		if !ok || !also {
			return io.ErrUnexpectedEOF
		}
		heard.Input, heard.Output = number(in), number(out)
		return nil
	})
	return heard, err
}

// between returns what stands between the prefix and the next end.
func between(data []byte, prefix string, end byte) ([]byte, bool) {
	_, rest, ok := bytes.Cut(data, []byte(prefix))
	if !ok {
		return nil, false
	}
	i := bytes.IndexByte(rest, end)
	return rest[:max(i, 0)], i >= 0
}

func number(digits []byte) (n int64) {
	for _, d := range digits {
		n = 10*n + int64(d-'0')
	}
	return n
}
