package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the tables into the page")

const page = "../../../docs/scale/on-paper.md"

// The tables stand between these lines of the page.
const (
	from = "<!-- go run ./internal/test/paper -->\n"
	to   = "<!-- until here -->\n"
)

func TestThePageHasTheTables(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), from)
	require.True(t, found, "%s has the line %s", page, from)
	old, after, found := strings.Cut(rest, to)
	require.True(t, found, "%s has the line %s", page, to)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+from+tables()+to+after), 0o644))
		return
	}
	assert.Equal(t, tables(), old, "go test ./internal/test/paper -update writes them")
}

func TestQuantities(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"60 GB":      quantity(60e9, "B"),
		"1.25 MB/s":  quantity(1.25e6, "B/s"),
		"200 B":      quantity(200, "B"),
		"4,000/s":    quantity(4000, "/s"),
		"20/s":       quantity(20, "/s"),
		"40,000,000": quantity(40e6, ""),
		"999":        quantity(999, ""),
		"0.05 s":     quantity(0.05, "s"),
	} {
		assert.Equal(t, want, got)
	}
}

// A turn of two calls is the one that the question has; the trial's was of one.
func TestTheTurnOfTheQuestion(t *testing.T) {
	t.Parallel()
	assert.InDelta(t, 500, turnRate(), 0)
	assert.InDelta(t, 8, perTurn(writesFirstCall, writesFurther), 0)
	assert.InDelta(t, 20_000, walPerTurn(), 0)
}

func TestLimitsComeInTheOrderInWhichTheyAreReached(t *testing.T) {
	t.Parallel()
	all := limits()
	for i := range all[1:] {
		assert.GreaterOrEqual(t, all[i].share(), all[i+1].share(), all[i].what)
	}
}

// Every figure is on the page, with where it comes from, and no two are of the same thing.
func TestEveryFigureHasASource(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, in := range inputs {
		assert.Positive(t, in.value, in.what)
		assert.NotEmpty(t, in.from, in.what)
		assert.False(t, seen[in.what], in.what)
		seen[in.what] = true
	}
}

// A figure that is a constant of the program is the one that stands there.
func TestFiguresOfTheProgramAreItsOwn(t *testing.T) {
	t.Parallel()
	held := 0
	for _, i := range inputs {
		place, found := strings.CutPrefix(i.from, in)
		if !found {
			continue
		}
		file, text, _ := strings.Cut(place, ": ")
		source, err := os.ReadFile("../../../" + file)
		require.NoError(t, err)
		assert.True(t, strings.Contains(strings.Join(strings.Fields(string(source)), " "), text), "%s: %s does not say %q any more", i.what, file, text)
		held++
	}
	assert.Positive(t, held)
}
