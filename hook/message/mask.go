package message

// Masked returns the message with text applied to each of its texts and addresses, and doc to its
// arguments and structured values. A tool call whose arguments doc has changed is Masked. Ids and
// names of tools stay, and so do media. Data of a provider are left out of a block if a text of
// theirs would change: they are signed, or quote the text.
func (m Message) Masked(text func(string) string, doc func(JSON) JSON) Message {
	m.Content = maskedBlocks(m.Content, text, doc)
	m.Result = m.Result.Masked(text, doc)
	return m
}

// Masked is [Message.Masked] for a result.
func (r ToolResult) Masked(text func(string) string, doc func(JSON) JSON) ToolResult {
	r.Content = maskedBlocks(r.Content, text, doc)
	if r.Meta != "" {
		r.Meta = doc(r.Meta)
	}
	return r
}

func maskedBlocks(blocks List[Block], text func(string) string, doc func(JSON) JSON) List[Block] {
	var out []Block // a copy, once something changes
	for i, b := range blocks.All() {
		masked := b.masked(text, doc)
		if masked == b {
			continue
		}
		if out == nil {
			out = blocks.Slice()
		}
		out[i] = masked
	}
	if out == nil {
		return blocks
	}
	return Freeze(out)
}

func (b Block) masked(text func(string) string, doc func(JSON) JSON) Block {
	was := b
	b.Text, b.URI, b.Name = text(b.Text), text(b.URI), text(b.Name)
	if b.JSON != "" {
		b.JSON = doc(b.JSON)
	}
	b.Masked = b.Masked || b.Kind == BlockToolCall && b.JSON != was.JSON
	if b.Meta != "" && (b.Text != was.Text || doc(b.Meta) != b.Meta) {
		b.Meta = ""
	}
	return b
}
