package policy

import (
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/subsystems/policy/internal/shell"
)

// glob is a compiled pattern for text.
type glob []form

// form is one of the alternatives of a glob.
type form struct {
	// prefix is the beginning of every text that matches.
	prefix string
	// rest has the bytes and wildcards behind the prefix.
	rest []int16
}

// The wildcards.
const (
	anyText    = -1
	anySegment = -2 // without a slash
)

// exact reports whether there is no wildcard.
func (g glob) exact() bool { return len(g) == 1 && len(g[0].rest) == 0 }

// fixed returns how many bytes of a text that matches stand before the first wildcard.
func (g glob) fixed(text string) (n int) {
	for _, f := range g {
		if f.matches(text) {
			n = max(n, len(f.prefix))
		}
	}
	return n
}

// commandGlob compiles a pattern for commands. A wildcard matches any text, also blanks
// and slashes. " *" at the end matches further words or nothing: "git log *" matches
// "git log" and "git log -5", but not "git logout". "git log:*" is the same.
func commandGlob(pattern string) glob {
	if prefix, ok := strings.CutSuffix(pattern, ":*"); ok {
		pattern = prefix + " *"
	}
	pattern = strings.Join(strings.Fields(pattern), " ")
	g := glob{newForm(pattern, false)}
	if prefix, ok := strings.CutSuffix(pattern, " "+strings.Repeat("*", len(pattern)-len(strings.TrimRight(pattern, "*")))); ok {
		g = append(g, newForm(prefix, false))
	}
	return g
}

// textGlob compiles a pattern for other text: * stops at a slash, ** does not, and
// "prefix:*" matches every text that begins with prefix.
func textGlob(pattern string) glob {
	if prefix, ok := strings.CutSuffix(pattern, ":*"); ok {
		pattern = prefix + "**"
	}
	return glob{newForm(pattern, true)}
}

// newForm compiles one alternative. With slashes a single * stops at a slash.
func newForm(pattern string, slashes bool) form {
	literal := len(pattern)
	if star := strings.IndexByte(pattern, '*'); star >= 0 {
		literal = star
	}
	f := form{prefix: pattern[:literal]}
	for i := literal; i < len(pattern); i++ {
		stars := len(pattern[i:]) - len(strings.TrimLeft(pattern[i:], "*"))
		switch {
		case stars == 0:
			f.rest = append(f.rest, int16(pattern[i]))
			continue
		case stars == 1 && slashes:
			f.rest = append(f.rest, anySegment)
		default:
			f.rest = append(f.rest, anyText)
		}
		i += stars - 1
	}
	return f
}

// matches reports whether the text matches for all values of its unknown parts.
func (g glob) matches(text string) bool {
	return slices.ContainsFunc(g, func(f form) bool { return f.matches(text) })
}

func (f form) matches(text string) bool {
	rest, ok := strings.CutPrefix(text, f.prefix)
	return ok && run(f.rest, rest, false)
}

// may reports whether the text matches for some values of its unknown parts.
func (g glob) may(text string) bool {
	return slices.ContainsFunc(g, func(f form) bool {
		known, _, found := strings.Cut(text, string(shell.Unknown))
		if n := min(len(known), len(f.prefix)); known[:n] != f.prefix[:n] {
			return false
		}
		if len(known) >= len(f.prefix) {
			return run(f.rest, text[len(f.prefix):], true)
		}
		// The unknown part begins within the prefix, and may be all the rest of it.
		return found && run(append([]int16{anyText}, f.rest...), text[len(known):], true)
	})
}

// run matches in one pass over the text, with the set of all places in the pattern that
// the text so far can reach. With unknown, an unknown part is any text; without, only a
// wildcard matches it.
func run(pattern []int16, text string, unknown bool) bool {
	var few [2][64]bool
	at, next := few[0][:], few[1][:]
	if len(pattern) >= len(at) {
		at, next = make([]bool, len(pattern)+1), make([]bool, len(pattern)+1)
	}
	at, next = at[:len(pattern)+1], next[:len(pattern)+1]
	at[0] = true
	skip(pattern, at)
	for i := range len(text) {
		if len(pattern) > 0 && at[len(pattern)-1] && pattern[len(pattern)-1] == anyText {
			return true
		}
		clear(next)
		reached := false
		for p, on := range at {
			switch c := text[i]; {
			case !on:
				continue
			case unknown && c == shell.Unknown:
				for q := p; q < len(next); q++ {
					next[q] = true
				}
			case p == len(pattern):
				continue
			case pattern[p] == anyText, pattern[p] == anySegment && c != '/' && c != shell.Unknown:
				next[p] = true
			case pattern[p] == int16(c):
				next[p+1] = true
			default:
				continue
			}
			reached = true
		}
		if !reached {
			return false
		}
		skip(pattern, next)
		at, next = next, at
	}
	return at[len(pattern)]
}

// skip lets every wildcard match nothing.
func skip(pattern []int16, at []bool) {
	for p, w := range pattern {
		if at[p] && w < 0 {
			at[p+1] = true
		}
	}
}
