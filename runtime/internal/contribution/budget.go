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

// Budget limits the contributions to one turn. Characters are runes. In each field 0 is
// the default, and a negative number allows none.
type Budget struct {
	// Blocks limits the blocks of the context, BlocksChars their texts together.
	Blocks, BlocksChars int
	// Sections limits the sections of the prompt, SectionChars each section with its
	// title, and SectionsChars all of them together.
	Sections, SectionChars, SectionsChars int
}

// Filled returns the budget with defaults for 0, and 0 for negative numbers.
func (b Budget) Filled() Budget {
	fill := func(n, or int) int { return max(0, cmp.Or(n, or)) }
	return Budget{
		Blocks: fill(b.Blocks, DefaultBlocks), BlocksChars: fill(b.BlocksChars, DefaultBlocksChars),
		Sections: fill(b.Sections, DefaultSections), SectionChars: fill(b.SectionChars, DefaultSectionChars),
		SectionsChars: fill(b.SectionsChars, DefaultSectionsChars),
	}
}
