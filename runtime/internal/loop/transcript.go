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
	// shown is stored with the ephemeral messages, and with a summary for the first hidden ones.
	// It is used if separate is true: only turns with ephemeral messages or a summary need two
	// lists.
	shown    message.Messages
	separate bool
	hidden   int
	// ephemerals counts the ephemeral messages in shown; the first one is at firstEphemeral.
	ephemerals, firstEphemeral int
}

func (h *transcript) add(m message.Message) {
	if m.Ephemeral && !h.separate {
		h.shown, h.separate = h.stored.Fork(), true
	}
	if m.Ephemeral {
		h.countEphemerals(h.shown.Len(), 1)
	}
	if h.separate {
		h.shown = h.shown.Append(m)
	}
	if !m.Ephemeral {
		h.stored = h.stored.Append(m)
	}
}

// addEphemeral adds an ephemeral message of the framework or a hook, unless the text is blank.
func (h *transcript) addEphemeral(label, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	h.add(ephemeral(label, text))
}

// countEphemerals notes that n ephemeral messages come into shown at an index.
func (h *transcript) countEphemerals(at, n int) {
	if h.ephemerals == 0 || at < h.firstEphemeral {
		h.firstEphemeral = at
	}
	h.ephemerals += n
}

// stable is how many of the first messages of list the requests of later turns begin with too.
func (h *transcript) stable() int {
	if h.ephemerals > 0 {
		return h.firstEphemeral
	}
	return h.list().Len()
}

func (h *transcript) list() message.Messages {
	if h.separate {
		return h.shown
	}
	return h.stored
}

// summarize shows the summary for the first stored messages, and for the ephemeral ones among
// them.
func (h *transcript) summarize(cut int, summary message.Message) {
	from := cut
	if h.separate {
		from = 0
		stored := 0
		if h.hidden > 0 {
			from, stored = 1, h.hidden
		}
		for ; stored < cut; from++ {
			if !h.shown.At(from).Ephemeral {
				stored++
			}
		}
	}
	rest := h.list().From(from).Slice()
	h.shown, h.separate, h.hidden = message.MessagesOf(summary).Append(rest...), true, cut
	h.ephemerals = 0
	for i, m := range rest {
		if m.Ephemeral {
			h.countEphemerals(i+1, 1)
		}
	}
}

// ephemeral returns a labelled message that is never stored.
func ephemeral(label, text string) message.Message {
	m := message.UserText(text)
	m.Label, m.Trust, m.Ephemeral = label, message.TrustTrusted, true
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
	h.countEphemerals(cut, len(entries))
	h.shown = h.shown.First(cut).Fork().Append(entries...).Append(h.shown.From(cut).Slice()...)
}
