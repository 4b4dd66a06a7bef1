package answer

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// happening is an event of the Responses wire. Events that are not listed are ignored.
type happening uint8

const (
	unnamed happening = iota
	ignored
	itemAdded
	itemDone
	textDelta
	refusalDelta
	summaryDelta
	summaryAdded
	argsDelta
	argsDone
	completed
	incomplete
	failed
	errored
)

func happeningOf[T string | []byte](name T) happening {
	switch string(name) {
	case "":
		return unnamed
	case "response.output_item.added":
		return itemAdded
	case "response.output_item.done":
		return itemDone
	case "response.output_text.delta":
		return textDelta
	case "response.refusal.delta":
		return refusalDelta
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return summaryDelta
	case "response.reasoning_summary_part.added":
		return summaryAdded
	case "response.function_call_arguments.delta":
		return argsDelta
	case "response.function_call_arguments.done":
		return argsDone
	case "response.completed", "response.done":
		return completed
	case "response.incomplete":
		return incomplete
	case "response.failed", "response.cancelled":
		return failed
	case "error":
		return errored
	}
	return ignored
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (h *happening) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if *h = ignored; err == nil && value.Kind() == jsontext.KindString {
		*h = happeningOf([]byte(value[1 : len(value)-1]))
	}
	return err
}

// event is an event's data. Values of unusual types are ignored.
type event struct {
	Type      happening             `json:"type"`
	Delta     wire.Piece            `json:"delta"`
	At        wire.Index            `json:"output_index"`
	Item      wire.Object[item]     `json:"item"`
	Arguments wire.Arguments        `json:"arguments"`
	Response  wire.Object[wholeOut] `json:"response"`
	Error     *wire.Reason          `json:"error"`
}

// item is an item of the output.
type item struct {
	Type      wire.Text           `json:"type"`
	ID        wire.Text           `json:"id"`
	Status    wire.Text           `json:"status"`
	CallID    wire.Text           `json:"call_id"`
	Name      wire.Text           `json:"name"`
	Arguments wire.Arguments      `json:"arguments"`
	Phase     wire.Text           `json:"phase"`
	Encrypted wire.Text           `json:"encrypted_content"`
	Summary   wire.List[itemPart] `json:"summary"`
	Content   wire.List[itemPart] `json:"content"`
}

type itemPart struct {
	Type    wire.Text `json:"type"`
	Text    wire.Text `json:"text"`
	Refusal wire.Text `json:"refusal"`
}

// said returns the whole text of a message, and whether it is a refusal.
func (i *item) said() (text string, refused bool) {
	var b strings.Builder
	for _, part := range i.Content {
		b.WriteString(string(part.Text))
		b.WriteString(string(part.Refusal))
		refused = refused || part.Type == "refusal"
	}
	return b.String(), refused
}

// thought returns the parts of the text of reasoning: its summary, or its content from
// servers that show it.
func (i *item) thought() (parts []string) {
	from := i.Summary
	if len(from) == 0 {
		from = i.Content
	}
	for _, part := range from {
		parts = append(parts, string(part.Text))
	}
	return parts
}

// wholeOut is the response as the last event has it.
type wholeOut struct {
	Status     wire.Text              `json:"status"`
	Error      *wire.Reason           `json:"error"`
	Incomplete wire.Object[whyPartly] `json:"incomplete_details"`
	Output     wire.List[item]        `json:"output"`
	Usage      wire.Object[itemUsage] `json:"usage"`
}

type whyPartly struct {
	Reason wire.Text `json:"reason"`
}

type itemUsage struct {
	Input    wire.Count                    `json:"input_tokens"`
	Output   wire.Count                    `json:"output_tokens"`
	OfInput  wire.Object[itemUsageDetails] `json:"input_tokens_details"`
	OfOutput wire.Object[itemUsageDetails] `json:"output_tokens_details"`
}

type itemUsageDetails struct {
	Cached    wire.Count `json:"cached_tokens"`
	Written   wire.Count `json:"cache_write_tokens"`
	Reasoning wire.Count `json:"reasoning_tokens"`
}

// tokens returns the usage; counted is false if there is none.
func (w *wholeOut) tokens() (u message.Usage, counted bool) {
	is := &w.Usage.Is
	u = message.Usage{
		Input: int64(is.Input), Output: int64(is.Output), CacheRead: int64(is.OfInput.Is.Cached),
		CacheWrite: int64(is.OfInput.Is.Written), Reasoning: int64(is.OfOutput.Is.Reasoning),
	}
	return u, u.Total() > 0
}
