package contribution_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/contribution"
)

// canary stands in everything that is a value: no diagnostic may have it.
const canary = "CANARY"

func value(s string) string { return canary + s }

func codes(ds []hook.Diagnostic) []string {
	var out []string
	for _, d := range ds {
		out = append(out, string(d.Code))
	}
	return out
}

// texts are the blocks in short.
func texts(blocks []hook.ContextBlock) []string {
	var out []string
	for _, b := range blocks {
		out = append(out, b.ID+"="+b.Text)
	}
	return out
}

var words = rapid.StringOfN(rapid.SampledFrom([]rune("ab ä\n👩\u200de\u0301🇩🇪")), 0, 60, -1)

func drawPolicies(t *rapid.T) []hook.Policy {
	plan := rapid.Custom(func(t *rapid.T) hook.RecallPlan {
		if rapid.Bool().Draw(t, "none") {
			return hook.RecallPlan{}
		}
		return hook.RecallPlan{Queries: message.ListOf(value(words.Draw(t, "query"))), Limit: rapid.IntRange(0, 3).Draw(t, "limit")}
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) hook.Policy {
		return hook.Policy{
			Domain: rapid.SampledFrom([]string{"", "memory", "a b", value("\n")}).Draw(t, "domain"), Key: rapid.SampledFrom([]string{"", "recall"}).Draw(t, "key"),
			Value: value(rapid.SampledFrom([]string{"on", "off"}).Draw(t, "value")), Weight: rapid.IntRange(-1, 1).Draw(t, "weight"),
			Recall: plan.Draw(t, "recall"), Fallback: plan.Draw(t, "fallback"), By: rapid.SampledFrom([]string{"", "Memory"}).Draw(t, "by"),
		}
	}), 0, 8).Draw(t, "policies")
}

func drawBlocks(label string, t *rapid.T) []hook.ContextBlock {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) hook.ContextBlock {
		return hook.ContextBlock{
			Domain: rapid.SampledFrom([]string{"memory", "files"}).Draw(t, "domain"), ID: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "id"),
			Text: value(words.Draw(t, "text")), Chars: rapid.IntRange(-1, 20).Draw(t, "chars"), Sources: message.ListOf(value("source")),
			Weight: rapid.IntRange(-1, 1).Draw(t, "weight"), By: "Memory",
		}
	}), 0, 8).Draw(t, label)
}

func drawSections(t *rapid.T) []hook.PromptSection {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) hook.PromptSection {
		return hook.PromptSection{
			ID: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "id"), Title: rapid.SampledFrom([]string{"", value("\ntitle")}).Draw(t, "title"),
			Text: value(words.Draw(t, "text")), Weight: rapid.IntRange(-1, 1).Draw(t, "weight"), By: "Rules",
		}
	}), 0, 8).Draw(t, "sections")
}

func drawBudget(t *rapid.T) contribution.Budget {
	small := rapid.IntRange(-1, 5)
	chars := rapid.IntRange(-1, 60)
	return contribution.Budget{
		Blocks: small.Draw(t, "blocks"), BlocksChars: chars.Draw(t, "blocks chars"),
		Sections: small.Draw(t, "sections"), SectionChars: chars.Draw(t, "section chars"), SectionsChars: chars.Draw(t, "sections chars"),
	}
}

func drawChanges(t *rapid.T) []hook.ToolChange {
	names := rapid.SampledFrom([]string{"own", "barred", "free", "fresh", "orphan", "final_answer", value(" no name"), ""})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) hook.ToolChange {
		var add []hook.AddedTool
		for range rapid.IntRange(0, 2).Draw(t, "adds") {
			add = append(add, hook.AddedTool{Tool: message.Tool{
				Name: names.Draw(t, "name"), Description: value(words.Draw(t, "description")), Input: rapid.SampledFrom([]message.JSON{"", "{}", "{", "[]"}).Draw(t, "schema"),
			}, Owner: rapid.SampledFrom([]string{"", "Notes", "Core.Extra[0]", value(" no path")}).Draw(t, "owner")})
		}
		return hook.ToolChange{
			ID: rapid.SampledFrom([]string{"", "x", value("\t")}).Draw(t, "id"), Hide: message.ListOf(rapid.SliceOfN(names, 0, 2).Draw(t, "hide")...),
			Add: message.ListOf(add...), Weight: rapid.IntRange(-1, 1).Draw(t, "weight"), By: "Tools",
		}
	}), 0, 6).Draw(t, "changes")
}

// binds says that nobody takes calls of orphan.
func binds(a hook.AddedTool) error {
	if a.Tool.Name == "orphan" {
		return errors.New(a.Owner + " does not bind calls of it")
	}
	return nil
}

// standing is an agent that has own, may not have barred, and may be given
// anything else.
func standing(name string) contribution.Standing {
	switch name {
	case "own", "bash":
		return contribution.Own
	case "barred":
		return contribution.Barred
	}
	return contribution.Free
}

// silent fails if a remark holds a value.
func silent(t interface{ Errorf(string, ...any) }, ds []hook.Diagnostic) {
	for _, d := range ds {
		if strings.Contains(fmt.Sprintf("%+v", d), canary) {
			t.Errorf("a remark holds a value: %+v", d)
		}
		if d.Visibility != event.VisibleInternal || d.Code == "" || d.Text == "" {
			t.Errorf("a remark is not whole: %+v", d)
		}
	}
}

func chars(s string) int { return utf8.RuneCountInString(s) }

// shuffled is the items in another order.
func shuffled[T any](items []T) []T {
	out := make([]T, 0, len(items))
	for _, i := range rand.New(rand.NewPCG(1, uint64(len(items)))).Perm(len(items)) {
		out = append(out, items[i])
	}
	return out
}
