package loop

import (
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// transcript is what the model is shown: what the store has, and in between the
// turn's ephemeral entries. It is only appended to, so that a request shares it.
type transcript struct {
	// stored is the conversation's history with what the next commit adds.
	stored message.Messages
	// shown is the same with the ephemeral entries, if it is apart from it: only a
	// turn that has some keeps two lists.
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

// addEphemeral adds an ephemeral entry of the framework, unless it would say nothing.
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
