package contribution

import "cmp"

// Defaults of a Budget.
const (
	DefaultBlocks        = 16
	DefaultBlocksChars   = 12_000
	DefaultSections      = 16
	DefaultSectionChars  = 8_000
	DefaultSectionsChars = 16_000
)

// Budget bounds what one turn gets. Characters are runes. In each field 0 is the
// default and a negative number is nothing at all.
type Budget struct {
	// Blocks and BlocksChars bound the context: its blocks, and their texts together.
	Blocks, BlocksChars int
	// Sections bounds the sections of the prompt, SectionChars each of them with its
	// title, and SectionsChars all together.
	Sections, SectionChars, SectionsChars int
}

// Filled returns the budget with the defaults filled in; what is negative is 0.
func (b Budget) Filled() Budget {
	fill := func(n, or int) int { return max(0, cmp.Or(n, or)) }
	return Budget{
		Blocks: fill(b.Blocks, DefaultBlocks), BlocksChars: fill(b.BlocksChars, DefaultBlocksChars),
		Sections: fill(b.Sections, DefaultSections), SectionChars: fill(b.SectionChars, DefaultSectionChars),
		SectionsChars: fill(b.SectionsChars, DefaultSectionsChars),
	}
}
