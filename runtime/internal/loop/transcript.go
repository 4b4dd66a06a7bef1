package loop

import (
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// transcript has the messages of a request: those of the history, and between them the ephemeral
// ones of the turn. Messages are never changed in place, so requests share the list.
type transcript struct {
	// stored is the conversation's history with the messages of the next commit.
	stored message.Messages
	// shown is stored with the ephemeral messages. It is used if separate is true: only turns
	// with ephemeral messages need two lists.
	shown    message.Messages
	separate bool
}

func (h *transcript) add(m message.Message) {
	if m.Ephemeral && !h.separate {
		h.shown, h.separate = h.stored.Fork(), true
	}
	if h.separate {
		h.shown = h.shown.Append(m)
	}
	if !m.Ephemeral {
		h.stored = h.stored.Append(m)
	}
}

// addEphemeral adds an ephemeral message, unless the text is blank.
func (h *transcript) addEphemeral(label, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	h.add(ephemeral(label, text))
}

func (h *transcript) list() message.Messages {
	if h.separate {
		return h.shown
	}
	return h.stored
}

// ephemeral returns a labelled message that is never stored.
func ephemeral(label, text string) message.Message {
	m := message.UserText(text)
	m.Label, m.Ephemeral = label, true
	return m
}

// insertEphemeral inserts ephemeral messages before the stored message with the index at, and
// after ephemeral messages that are there.
func (h *transcript) insertEphemeral(at int, entries []message.Message) {
	if len(entries) == 0 {
		return
	}
	if !h.separate {
		h.shown, h.separate = h.stored, true
	}
	cut := h.shown.Len()
	for behind := h.stored.Len() - at; behind > 0; {
		if cut--; !h.shown.At(cut).Ephemeral {
			behind--
		}
	}
	h.shown = h.shown.First(cut).Fork().Append(entries...).Append(h.shown.From(cut).Slice()...)
}
