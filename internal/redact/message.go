package redact

import "github.com/grapnel-go/grapnel/hook/message"

// message masks a message. Ids, names of tools and media stay.
func (r *Redactor) message(m message.Message) message.Message {
	m.Content, m.Result = mapped(m.Content, r.block), r.result(m.Result)
	return m
}

func (r *Redactor) messages(ms []message.Message) []message.Message {
	for i, m := range ms {
		ms[i] = r.message(m)
	}
	return ms
}

func (r *Redactor) result(res message.ToolResult) message.ToolResult {
	res.Content, res.Meta = mapped(res.Content, r.block), r.JSON(res.Meta)
	return res
}

// block masks a block, and marks a call whose arguments changed. A provider's own data are left out
// if they or the text had to be masked: they sign the text, or quote it.
func (r *Redactor) block(b message.Block) message.Block {
	was := b
	b.Text, b.URI, b.Name, b.JSON = r.Text(b.Text), r.Text(b.URI), r.Text(b.Name), r.JSON(b.JSON)
	b.Masked = b.Masked || b.Kind == message.BlockToolCall && b.JSON != was.JSON
	if b.Text != was.Text || r.JSON(b.Meta) != b.Meta {
		b.Meta = ""
	}
	return b
}
