package contribution

import (
	"strings"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/character"
)

// Sections follow the agent's own prompt, heaviest first.
type Sections struct {
	Kept        []hook.PromptSection
	Diagnostics []hook.Diagnostic
}

// MergeSections merges the sections. Of several with one id, the heaviest counts. A
// section that exceeds its limit or the rest of the budget is cut, and a section without
// room is left out. Sections without text do not count. A title becomes one line.
func MergeSections(in []hook.PromptSection, b Budget) Sections {
	b = b.Filled()
	var out Sections
	left := b.SectionsChars
	seen := map[string]bool{}
	for _, s := range heaviest(in, func(s hook.PromptSection) int { return s.Weight }) {
		if blank(s.Text) {
			continue
		}
		if s.ID != "" && seen[s.ID] {
			out.remark(event.CodeSectionDuplicate, s, "section%s is there already and is left out")
			continue
		}
		seen[s.ID] = true
		s.Title, s.Text = strings.Join(strings.Fields(plain(s.Title)), " "), tidy(s.Text)
		title := utf8.RuneCountInString(s.Title)
		limit := min(left, b.SectionChars)
		if len(out.Kept) == b.Sections || limit <= title {
			out.remark(event.CodeSectionOmitted, s, "section%s is left out: there is no room for it in the budget of the prompt")
			continue
		}
		var cut bool
		if s.Text, cut = character.Cut(s.Text, limit-title); cut {
			out.remark(event.CodeSectionTruncated, s, "section%s is cut: it is longer than a section may be, or than the rest of the budget")
		}
		s.Attached = hook.Attached{}
		out.Kept = append(out.Kept, s)
		left -= title + utf8.RuneCountInString(s.Text)
	}
	return out
}

func (out *Sections) remark(code hook.DiagnosticCode, s hook.PromptSection, format string) {
	out.Diagnostics = append(out.Diagnostics, remark(code, s.By, format, name(s.ID)))
}
