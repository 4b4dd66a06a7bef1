package providertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// Gateway returns a provider of a server that answers with one JSON object per line. The key
// is in the function alone, so that nobody can print it.
func Gateway(url, key string, client *http.Client) provider.Func {
	return func(ctx context.Context, req message.ModelRequest) message.ModelStream {
		return func(yield func(message.Chunk, error) bool) {
			left := false
			err := stream(ctx, url, key, client, req, func(c message.Chunk) bool {
				left = !yield(c, nil)
				return !left
			})
			if err != nil && !left {
				yield(message.Chunk{}, err)
			}
		}
	}
}

// wireName is the gateway's key in the Meta of blocks.
const wireName = "gateway"

// stream makes one request and passes on what comes, until yield says no.
func stream(ctx context.Context, url, key string, client *http.Client, req message.ModelRequest, yield func(message.Chunk) bool) error {
	body, err := json.Marshal(map[string]any{
		"model": req.Model, "system": req.System, "messages": own(req.Messages), "tools": req.Tools.Tools(),
	})
	if err != nil {
		return err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	post.Header.Set("Authorization", "Bearer "+key)
	resp, err := client.Do(post)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines, a := json.NewDecoder(resp.Body), answer{ids: map[string]bool{}}
	for {
		var l line
		switch err := lines.Decode(&l); {
		case resp.StatusCode != http.StatusOK || l.Error != nil:
			return l.refusal(resp.StatusCode, key)
		case err == io.EOF:
			return fmt.Errorf("gateway: %w", provider.ErrNoFinish)
		case errors.As(err, new(*json.SyntaxError)), errors.As(err, new(*json.UnmarshalTypeError)):
			return fmt.Errorf("gateway: %w: %w", provider.ErrProtocol, err)
		case err != nil:
			return fmt.Errorf("gateway: %w", err)
		}
		for _, c := range a.chunks(&l) {
			if !yield(c) || c.Kind == message.ChunkFinish {
				return nil
			}
		}
	}
}

// own returns the messages without what other vendors have signed.
func own(ms message.Messages) (out []message.Message) {
	for _, m := range ms.All() {
		var blocks []message.Block
		for _, b := range m.Content.All() {
			if signed := provider.MetaFor(wireName, b.Meta, new(string)); !signed {
				b.Meta = ""
			}
			if b.Kind != message.BlockReasoning || b.Meta != "" {
				blocks = append(blocks, b)
			}
		}
		m.Content = message.ListOf(blocks...)
		out = append(out, m)
	}
	return out
}

// line is a line of an answer.
type line struct {
	Text, Reasoning, Signature string
	Call                       *struct {
		Index    int
		ID, Tool string
	}
	Args, End *struct {
		Index int
		Text  string
	}
	Finish message.FinishReason
	Usage  message.Usage
	Error  *struct {
		Code, Message string
		Wait          float64
	}
}

// answer is what has come of an answer: the ids of its calls, and whether reasoning came last.
type answer struct {
	ids       map[string]bool
	reasoning bool
}

// chunks returns what a line says. A call without an id, or with that of another one, gets an
// id of its own. A signature without reasoning stands for reasoning that is not shown.
func (a *answer) chunks(l *line) (out []message.Chunk) {
	if l.Text != "" {
		out = append(out, message.Chunk{Kind: message.ChunkText, Text: l.Text})
	}
	if l.Reasoning != "" {
		out = append(out, message.Chunk{Kind: message.ChunkReasoning, Text: l.Reasoning})
	}
	meta := provider.Meta(wireName, l.Signature)
	switch {
	case l.Signature == "":
	case a.reasoning:
		out = append(out, message.Chunk{Kind: message.ChunkMeta, Meta: meta})
	default:
		out = append(out, message.Chunk{Kind: message.ChunkBlock, Block: &message.Block{Kind: message.BlockReasoning, Meta: meta}})
	}
	a.reasoning = l.Reasoning != ""
	if c := l.Call; c != nil {
		for n := 0; c.ID == "" || a.ids[c.ID]; n++ {
			c.ID = fmt.Sprintf("call_%d_%d", c.Index, n)
		}
		a.ids[c.ID] = true
		out = append(out, message.Chunk{Kind: message.ChunkCallStart, Index: c.Index, CallID: c.ID, Tool: c.Tool})
	}
	if l.Args != nil {
		out = append(out, message.Chunk{Kind: message.ChunkCallArgs, Index: l.Args.Index, Text: l.Args.Text})
	}
	if l.End != nil {
		out = append(out, message.Chunk{Kind: message.ChunkCallEnd, Index: l.End.Index})
	}
	if l.Finish != "" {
		out = append(out, message.Chunk{Kind: message.ChunkFinish, Finish: l.Finish, Usage: l.Usage})
	}
	return out
}

// refusal returns the server's error. Its class comes from the code or the status.
func (l *line) refusal(status int, key string) error {
	e := &provider.ServerError{Vendor: "gateway", Status: status}
	if l.Error != nil {
		e.Code, e.Message = l.Error.Code, strings.ReplaceAll(l.Error.Message, key, "[key]")
		e.RetryAfter = seconds(l.Error.Wait)
	}
	return e
}
