package memory

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Kind says what a memory is about.
type Kind string

// The kinds.
const (
	KindFact       Kind = "fact"
	KindPreference Kind = "preference"
	// KindTask is something that is still to be done.
	KindTask Kind = "task"
)

// Origin says where a memory is from. It is the mark that a memory keeps for good.
type Origin string

// The origins, the strongest first.
const (
	// OriginUser: a person has said it, in nearly these words.
	OriginUser Origin = "user"
	// OriginModel: a model has concluded it from what people said.
	OriginModel Origin = "model"
	// OriginTool: the model had read results of tools of this machine.
	OriginTool Origin = "tool"
	// OriginPage: the model had read something from elsewhere, whose label is external.
	OriginPage Origin = "page"
)

var origins = [...]Origin{OriginPage, OriginTool, OriginModel, OriginUser}

// strength orders origins; the strongest has the highest.
func (o Origin) strength() int { return slices.Index(origins[:], o) }

// label is where a memory is from, and how far it can be trusted.
type label struct {
	origin Origin
	trust  message.Trust
}

// shown is the weakest label of several memories; the zero value is that of none. It says only what weakens others: a memory of
// a model or of the user weakens nothing.
type shown struct {
	Tool bool `json:"tool,omitzero"`
	Page bool `json:"page,omitzero"`
}

// with is the value with further memories.
func (s shown) with(hits []hit) shown {
	for _, h := range hits {
		s.Tool = s.Tool || h.label.origin == OriginTool
		s.Page = s.Page || h.label.origin == OriginPage || message.Weakest(h.label.trust) == message.TrustExternal
	}
	return s
}

// note keeps what the turn's conversation has got.
func (m *Memory) note(t *hook.Turn, hits []hit) {
	c := t.Conversation()
	if c == nil {
		return
	}
	if was := m.shown.Get(c); was.with(hits) != was {
		m.shown.Update(c, func(s shown) shown { return s.with(hits) })
	}
}

// weaker returns the weaker of two labels. Memories are never better than workspace.
func weaker(a, b message.Trust) message.Trust { return message.Weakest(a, b, message.TrustWorkspace) }

// labelOf returns the label of what a model writes in the turn: the weakest of what it has
// read in this conversation and those above it. A summary hides what it replaces, so it counts
// as external. content is of the user if nearly all of its words are in the turn's input.
func (m *Memory) labelOf(t *hook.Turn, content string) label {
	l := label{OriginModel, message.TrustWorkspace}
	own := map[string]bool{}
	for _, tool := range memoryTools {
		own[t.Agent().ToolName(tool.Name)] = true
	}
	for at := t; at != nil; at = at.Parent() {
		l.trust = weaker(l.trust, cmp.Or(m.recalled.Get(at).trust, message.TrustTrusted))
		if c := at.Conversation(); c != nil {
			switch got := m.shown.Get(c); {
			case got.Page:
				l.trust = message.TrustExternal
			case got.Tool:
				l.origin = OriginTool
			}
		}
		for _, msg := range at.Standing().History.All() {
			switch {
			case msg.Role == message.RoleUser && hasFile(msg):
				l.origin = OriginTool
			case msg.Label == message.LabelSummary:
				l.trust = weaker(l.trust, msg.Origin())
				l.origin = OriginTool
			case msg.Role == message.RoleTool:
				l.trust = weaker(l.trust, msg.Origin())
				if !own[msg.Tool] {
					l.origin = OriginTool
				}
			}
		}
	}
	switch {
	case l.trust == message.TrustExternal:
		l.origin = OriginPage
	case l.origin == OriginModel && said(content, inputText(t.Root())): // a child's input is a model's
		l.origin = OriginUser
	}
	return l
}

// inputText is what a person has written in the turn, without what the framework has added.
func inputText(t *hook.Turn) (text string) {
	for _, msg := range t.Input().Messages.All() {
		if words, ok := wordsOf(msg); ok {
			text += words + "\n"
		}
	}
	return text
}

// wordsOf returns what a person has written in the message, without the files that came with it; ok is
// false for a message of somebody else.
func wordsOf(msg message.Message) (words string, ok bool) {
	if msg.Role != message.RoleUser || msg.Label != "" || msg.Ephemeral {
		return "", false
	}
	for _, b := range msg.Content.All() {
		if b.Kind == message.BlockText && !b.Attached() {
			words += b.Text
		}
	}
	return words, true
}

func hasFile(msg message.Message) bool {
	return slices.ContainsFunc(msg.Content.Slice(), func(b message.Block) bool { return b.Attached() })
}

// said reports whether the text has nearly all words of the content, and agrees with it in negations and numbers. A text
// with a question states nothing.
func said(content, text string) bool {
	if strings.ContainsAny(text, "?？") {
		return false
	}
	words, have, denies := stems(content), map[string]bool{}, false
	for _, w := range stems(text) {
		have[w], denies = true, denies || negation(w)
	}
	n := 0
	for _, w := range words {
		switch {
		case have[w]:
			n++
		case strings.ContainsFunc(w, unicode.IsDigit):
			return false
		}
	}
	return n > 0 && 10*n >= 7*len(words) && denies == slices.ContainsFunc(words, negation)
}

// keyForms are texts that are keys for certain, or nearly; passwordForms name one.
var (
	keyForms = regexp.MustCompile(`(?i)-----BEGIN [A-Z ]*PRIVATE KEY|\b(sk|pk|rk)[-_](live|test|proj|ant)[-_]\w{8,}|\bsk-[\w-]{20,}|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}` +
		`|\bAKIA[0-9A-Z]{12,}|\bxox[abprs]-[\w-]{10,}|\bAIza[\w-]{30,}|\beyJ[\w-]{10,}\.[\w-]{10,}|\bglpat-[\w-]{16,}|://[^\s/:@]+:[^\s/@]+@`)
	passwordForms = regexp.MustCompile(`(?i)\b(password|passwort|kennwort|passwd|passphrase|pwd|pin|secret|token|api[ _-]?key|access[ _-]?key|credentials?)\b` +
		`["']?( (of|for|to|von|für) [\w .'-]{1,40}?)?( is| are| was| ist| lautet|:| ?=|=>)\s*\S`)
)

// hasKey reports whether one of the texts has a key for certain. hasSecret errs on the safe
// side: it is for texts that no person has asked to keep.
func hasKey(texts ...string) bool { return slices.ContainsFunc(texts, keyForms.MatchString) }

func hasSecret(texts ...string) bool {
	return hasKey(texts...) || slices.ContainsFunc(texts, passwordForms.MatchString)
}
