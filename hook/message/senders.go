package message

// SenderRule keeps tools for some senders. In the turns of any other sender its tools are neither
// offered nor callable. Of several rules that name a tool, each has to admit the sender. A turn of
// a child agent has the sender of the turn that a user started.
//
// A sender is what the host's caller says it is. A program that serves others must set the
// sender itself, and not take it from them.
type SenderRule struct {
	// Tools are names of tools or patterns of them, see [MatchName]. They also hold for tools
	// that are added later.
	Tools []string `json:"tools"`
	// Senders are the senders, or patterns of them. Empty admits nobody.
	Senders []string `json:"senders"`
}

// Bars reports whether the rule keeps the tool from the sender.
func (r SenderRule) Bars(tool, sender string) bool {
	return MatchesAny(r.Tools, tool) && !MatchesAny(r.Senders, sender)
}
