package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/grapnel-go/grapnel/hook/message"
)

// binaryMost bounds the images and other binary parts of one result, in bytes
// before base64.
const binaryMost = 8 << 20

// result maps a server's answer; text and JSON together have at most max bytes.
func result(res *sdk.CallToolResult, max int) message.ToolResult {
	b := blocks{text: max, binary: binaryMost}
	structured, inText := structuredText(res)
	meta := message.JSON("")
	if inText < 0 && structured != "" && told(res, max) {
		if len(structured) <= max {
			meta = structured
		}
		structured = ""
	}
	for i, c := range res.Content {
		if i == inText {
			continue
		}
		b.add(c)
	}
	if structured != "" {
		b.json(structured)
	}
	if b.cut > 0 {
		b.out = append(b.out, message.TextBlock(fmt.Sprintf("[cut: the last %d bytes of this result are not shown]", b.cut)))
	}
	out := message.ToolResult{Content: message.Freeze(b.out), Trust: message.TrustExternal, Meta: meta}
	if res.IsError {
		out.Failure = message.FailOperation
	}
	return out
}

// structuredText returns the structured result as JSON, "" without one, and the
// index of the text part that says the same, -1 without one: servers repeat it
// there for clients that know no structured results. The text is preferred, for
// it has the numbers as the server wrote them.
func structuredText(res *sdk.CallToolResult) (message.JSON, int) {
	if res.StructuredContent == nil {
		return "", -1
	}
	for i, c := range res.Content {
		t, ok := c.(*sdk.TextContent)
		if !ok {
			continue
		}
		var value any
		if json.Unmarshal([]byte(t.Text), &value) != nil || !reflect.DeepEqual(value, res.StructuredContent) {
			continue
		}
		var compact bytes.Buffer
		if json.Compact(&compact, []byte(t.Text)) == nil {
			return message.JSON(compact.String()), i
		}
	}
	text, err := encode(res.StructuredContent)
	if err != nil {
		return "", -1
	}
	return text, -1
}

// maxLeaves is how many leaves of a value are looked for in a text.
const maxLeaves = 10_000

// told reports whether the text that is shown of the result, at most max bytes, says
// all that its structured value does: every text, number and truth value in it. Then
// the model gets the text, which the server wrote for it, and clients the value in
// Meta.
func told(res *sdk.CallToolResult, max int) bool {
	var sb strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			sb.WriteString(clip(t.Text, max-sb.Len()))
			sb.WriteByte('\n')
		}
		if sb.Len() >= max {
			break
		}
	}
	left := maxLeaves
	return sb.Len() > 0 && within(sb.String(), res.StructuredContent, &left)
}

// within reports whether every leaf of a value stands in the text, as it is or as JSON
// has it. left is how many leaves may still be looked for.
func within(text string, value any, left *int) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, member := range v {
			if !within(text, member, left) {
				return false
			}
		}
		return true
	case []any:
		for _, element := range v {
			if !within(text, element, left) {
				return false
			}
		}
		return true
	case nil:
		return true
	case string:
		if *left > 0 && strings.Contains(text, v) {
			*left--
			return true
		}
	}
	if *left--; *left < 0 {
		return false
	}
	data, err := encode(value)
	return err == nil && strings.Contains(text, strings.Trim(string(data), `"`))
}

// blocks collects the parts of a result within their bounds.
type blocks struct {
	text   int // bytes of text that may still come
	binary int
	cut    int // bytes of text that were left out
	out    []message.Block
}

func (b *blocks) add(c sdk.Content) {
	switch c := c.(type) {
	case *sdk.TextContent:
		b.put(message.Block{Kind: message.BlockText, Text: c.Text})
	case *sdk.ImageContent:
		b.data(message.Block{Kind: message.BlockImage, MIME: c.MIMEType}, c.Data)
	case *sdk.AudioContent:
		b.data(message.Block{Kind: message.BlockResource, MIME: c.MIMEType}, c.Data)
	case *sdk.ResourceLink:
		b.put(message.Block{Kind: message.BlockResource, URI: c.URI, MIME: c.MIMEType})
	case *sdk.EmbeddedResource:
		b.resource(c.Resource)
	default:
		b.put(message.TextBlock("[a part of a kind that is not supported]"))
	}
}

func (b *blocks) resource(r *sdk.ResourceContents) {
	if r == nil {
		return
	}
	block := message.Block{Kind: message.BlockResource, URI: r.URI, MIME: r.MIMEType}
	if len(r.Blob) > 0 {
		b.data(block, r.Blob)
		return
	}
	block.Text = r.Text
	b.put(block)
}

// put adds a block whose text counts, cut to what is left.
func (b *blocks) put(block message.Block) {
	cost := len(block.Text) + len(block.URI)
	if cost <= b.text {
		b.text -= cost
		b.out = append(b.out, block)
		return
	}
	kept := clip(block.Text, max(0, b.text-len(block.URI)-len("…")))
	b.cut += len(block.Text) - (len(kept) - len("…"))
	b.text = 0
	if kept != "…" {
		block.Text = kept
		b.out = append(b.out, block)
	}
}

// json adds a structured value; one that is too long becomes text, because a
// part of it is no JSON.
func (b *blocks) json(value message.JSON) {
	if len(value) > b.text {
		b.put(message.TextBlock(string(value)))
		return
	}
	b.text -= len(value)
	b.out = append(b.out, message.Block{Kind: message.BlockJSON, JSON: value})
}

// data adds a block with bytes, or says that they are too many.
func (b *blocks) data(block message.Block, data []byte) {
	if len(data) > b.binary {
		b.put(message.TextBlock(fmt.Sprintf("[%s of %d bytes is not shown]", clip(block.MIME, 100), len(data))))
		return
	}
	b.binary -= len(data)
	block.Data = base64.StdEncoding.EncodeToString(data)
	b.out = append(b.out, block)
}
