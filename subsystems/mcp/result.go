package mcp

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/mcp/internal/conn"
)

// binaryMost limits the binary parts of one result, in bytes before base64.
const binaryMost = 8 << 20

// result maps a server's answer; text and JSON together have at most max bytes.
func result(res *sdk.CallToolResult, max int) message.ToolResult {
	b := blocks{text: max, binary: binaryMost}
	structured, inText := structuredText(res)
	meta := message.JSON("")
	if inText < 0 && structured != "" && covered(res, max) {
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

// structuredText returns the structured result as JSON, or "". It also returns the index of
// the text part with the same value, or -1: servers repeat the value there for older
// clients. That text is preferred, because it has the numbers exactly as the server wrote
// them.
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

// maxLeaves limits the leaves of a value that are searched in a text.
const maxLeaves = 10_000

// covered reports whether the result's text, cut to max bytes, has every text, number and
// boolean of its structured value. Then the model gets the text, which the server wrote for
// it, and clients get the value in Meta.
func covered(res *sdk.CallToolResult, max int) bool {
	var sb strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			sb.WriteString(conn.Clip(t.Text, max-sb.Len()))
			sb.WriteByte('\n')
		}
		if sb.Len() >= max {
			break
		}
	}
	left := maxLeaves
	return sb.Len() > 0 && within(sb.String(), res.StructuredContent, &left)
}

// within reports whether the text has every leaf of a value, as it is or as JSON. left is
// how many leaves may still be searched.
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
		b.data(message.Block{Kind: message.BlockAudio, MIME: c.MIMEType}, c.Data)
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
		block.Kind = cmp.Or(message.MediaKind(r.MIMEType), message.BlockResource)
		b.data(block, r.Blob)
		return
	}
	block.Text = r.Text
	b.put(block)
}

// put adds a block, with its text cut to the bytes that still fit.
func (b *blocks) put(block message.Block) {
	cost := len(block.Text) + len(block.URI)
	if cost <= b.text {
		b.text -= cost
		b.out = append(b.out, block)
		return
	}
	kept := conn.Clip(block.Text, max(0, b.text-len(block.URI)-len("…")))
	b.cut += len(block.Text) - (len(kept) - len("…"))
	b.text = 0
	if kept != "…" {
		block.Text = kept
		b.out = append(b.out, block)
	}
}

// json adds a structured value. A value that is too long becomes text, because cut JSON is
// not JSON.
func (b *blocks) json(value message.JSON) {
	if len(value) > b.text {
		b.put(message.TextBlock(string(value)))
		return
	}
	b.text -= len(value)
	b.out = append(b.out, message.Block{Kind: message.BlockJSON, JSON: value})
}

// data adds a block with binary data, or a note that the data is too large.
func (b *blocks) data(block message.Block, data []byte) {
	if len(data) > b.binary {
		b.put(message.TextBlock(fmt.Sprintf("[%s of %d bytes is not shown]", conn.Clip(block.MIME, 100), len(data))))
		return
	}
	b.binary -= len(data)
	block.Data = base64.StdEncoding.EncodeToString(data)
	b.out = append(b.out, block)
}
