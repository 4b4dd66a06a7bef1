package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

func (p *Provider) post(ctx context.Context, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = p.header.Clone()
	return p.o.Client.Do(req)
}

// accept refuses a response that is no stream of events.
func (p *Provider) accept(resp *http.Response, body io.Reader) error {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return p.refusal(resp, body)
	}
	kind := resp.Header.Get("Content-Type")
	if parsed, _, err := mime.ParseMediaType(kind); err == nil {
		kind = parsed
	}
	if kind == "text/event-stream" || kind == "" {
		return nil
	}
	head, _ := io.ReadAll(io.LimitReader(body, maxRefusal)) // only for the error's text
	if e := refusalOf(head, resp.StatusCode); e.Message != "" {
		return p.shown(e)
	}
	if isHTML(resp.Header, strings.TrimSpace(string(head))) {
		head = []byte(unworded(resp, head))
	}
	return p.broken("the server sent "+p.veil.line(kind, 100)+" instead of a stream of events", head)
}

// ended returns why there is no answer: first the end of the caller's context, then a
// timeout, with the words of late, then the error itself.
func (p *Provider) ended(ctx, parent context.Context, err error, late string) error {
	var known provider.Classified
	switch {
	case parent.Err() != nil:
		return fmt.Errorf("openai: %w", parent.Err())
	case errors.As(err, &known), errors.Is(err, provider.ErrProtocol), errors.Is(err, provider.ErrNoFinish):
		return err
	case errors.Is(context.Cause(ctx), ErrTimeout):
		return faulty(message.FailureTimeout, fmt.Errorf("%w (%s): %s", ErrTimeout, p.host, late))
	}
	return p.unreachable(err)
}

// finishOf maps a server's finish reason; false if the answer was not finished.
func finishOf(reason string) (message.FinishReason, bool) {
	switch strings.ToLower(reason) {
	case "stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed", "end":
		return message.FinishStop, true
	case "tool_calls", "tool_call", "tool_use", "function_call":
		return message.FinishTools, true
	case "length", "max_tokens", "model_length", "max_output_tokens", "model_context_window_exceeded":
		return message.FinishLength, true
	case "content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii", "refusal", "sensitive":
		return message.FinishFilter, true
	case "error", "abort", "aborted", "cancelled", "canceled", "network_error", "insufficient_system_resource":
		return "", false
	}
	return message.FinishOther, true
}
