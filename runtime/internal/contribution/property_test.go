package contribution_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime/internal/contribution"
)

func TestBudgetsAreNeverPassed(t *testing.T) {
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		b := drawBudget(t)
		full := b.Filled()
		c := contribution.MergeContext(drawBlocks("blocks", t), drawBlocks("refined", t), b)
		total := 0
		for _, block := range c.Blocks {
			total += chars(block.Text)
			assert.True(t, block.Chars <= 0 || chars(block.Text) <= block.Chars)
		}
		assert.LessOrEqual(t, total, full.BlocksChars)
		assert.Equal(t, full.BlocksChars-total, c.CharsLeft)
		assert.Equal(t, full.Blocks-len(c.Blocks), c.BlocksLeft)
		assert.GreaterOrEqual(t, c.BlocksLeft, 0)

		s := contribution.MergeSections(drawSections(t), b)
		total = 0
		for _, section := range s.Kept {
			n := chars(section.Title) + chars(section.Text)
			assert.LessOrEqual(t, n, full.SectionChars)
			total += n
		}
		assert.LessOrEqual(t, total, full.SectionsChars)
		assert.LessOrEqual(t, len(s.Kept), full.Sections)
	})
}

func TestMergingTwiceChangesNothing(t *testing.T) {
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		b := drawBudget(t)
		c := contribution.MergeContext(drawBlocks("blocks", t), drawBlocks("refined", t), b)
		again := contribution.MergeContext(c.Blocks, nil, b)
		c.Diagnostics = nil
		assert.Equal(t, c, again)

		s := contribution.MergeSections(drawSections(t), b)
		assert.Equal(t, contribution.Sections{Kept: s.Kept}, contribution.MergeSections(s.Kept, b))

		p := contribution.MergePolicies(drawPolicies(t))
		held := contribution.MergePolicies(p.Holding)
		assert.Equal(t, p.Holding, held.Holding)
		assert.Empty(t, held.Diagnostics)

		tools := contribution.MergeTools(drawChanges(t), standing, binds)
		same := contribution.MergeTools([]hook.ToolChange{{Hide: message.ListOf(tools.Hidden...), Add: message.ListOf(tools.Added...), By: "Tools"}}, standing, binds)
		tools.Diagnostics = nil
		assert.Equal(t, tools, same)
	})
}

func TestDiagnosticsHoldNoValues(t *testing.T) {
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		b := drawBudget(t)
		silent(t, contribution.MergePolicies(drawPolicies(t)).Diagnostics)
		silent(t, contribution.MergeContext(drawBlocks("blocks", t), drawBlocks("refined", t), b).Diagnostics)
		silent(t, contribution.MergeSections(drawSections(t), b).Diagnostics)
		silent(t, contribution.MergeTools(drawChanges(t), standing, binds).Diagnostics)
	})
}

// Where weights differ, the order in which members were asked makes no difference,
// and nothing hangs on the order of a map.
func TestTheSameContributionsGiveTheSameBytes(t *testing.T) {
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		b := drawBudget(t)
		policies, blocks, sections, changes := drawPolicies(t), drawBlocks("blocks", t), drawSections(t), drawChanges(t)
		for i := range policies {
			policies[i].Weight = i
		}
		for i := range blocks {
			blocks[i].Weight = i
		}
		for i := range sections {
			sections[i].Weight = i
		}
		for i := range changes {
			changes[i].Weight = i
		}
		merge := func(order func() ([]hook.Policy, []hook.ContextBlock, []hook.PromptSection, []hook.ToolChange)) string {
			p, c, s, x := order()
			return fmt.Sprintf("%+v\n%+v\n%+v\n%+v", contribution.MergePolicies(p), contribution.MergeContext(c, nil, b),
				contribution.MergeSections(s, b), contribution.MergeTools(x, standing, binds))
		}
		want := merge(func() ([]hook.Policy, []hook.ContextBlock, []hook.PromptSection, []hook.ToolChange) {
			return policies, blocks, sections, changes
		})
		for range 5 {
			assert.Equal(t, want, merge(func() ([]hook.Policy, []hook.ContextBlock, []hook.PromptSection, []hook.ToolChange) {
				return shuffled(policies), shuffled(blocks), shuffled(sections), shuffled(changes)
			}))
		}
	})
}
