package programs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestProgramsText: the table can be read, and what it says can have an effect.
func TestProgramsText(t *testing.T) {
	t.Parallel()
	programs, err := parseTable(programsText)
	require.NoError(t, err)
	for name, p := range programs {
		first, sub, ok := strings.Cut(name, " ")
		if ok {
			assert.NotNil(t, programs[first], "%s: the program itself is missing", name)
			assert.LessOrEqual(t, strings.Count(sub, " "), 1, "%s: a subcommand has at most two words", name)
		}
		if p.Level == Dangerous {
			assert.NotEmpty(t, p.Does, "%s: why", name)
		}
		for f, of := range p.Flags {
			assert.Regexp(t, `^[-+]`, f, name)
			if of.Level == Dangerous {
				assert.NotEmpty(t, of.Why, "%s %s: why", name, f)
			}
			assert.True(t, p.Unseen || !of.Seen, "%s %s: the program loses nothing that the flag keeps", name, f)
		}
		assert.True(t, p.Unseen || p.Seen == 0, "%s: operands are counted of what loses something", name)
	}
}

// TestWrongTables: a mistake in the table is an error with its line.
func TestWrongTables(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ls safe":                "line 1: \"ls safe\" has no level",
		"# x\nls: mild":          "line 2: there is no level mild",
		"ls: safe letters":       "line 1: there is no kind of operands letters",
		"ls: safe\nls: safe":     "line 2: ls is there twice",
		"ls: safe\n\tx y: -a":    "line 2: there is no level x",
		"ls: safe\n\t-a=letters": "line 2: there is no kind of values letters",
		"ls: safe max=x":         "line 1: strconv.Atoi: parsing \"x\": invalid syntax",
		"ls: unseen":             "line 1: unseen is the level of flags alone",
		"ls: safe unseen=x":      "line 1: strconv.Atoi: parsing \"x\": invalid syntax",
		"ls: named+x":            "line 1: strconv.Atoi: parsing \"x\": invalid syntax",
	} {
		_, err := parseTable(text)
		assert.EqualError(t, err, want, text)
	}
}
