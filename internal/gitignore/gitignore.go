// Package gitignore says which paths the .gitignore files of a project exclude. It opens no files itself, and knows neither the global
// settings of git nor its index.
package gitignore

import (
	"bufio"
	"io"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Rules are those of the .gitignore files from the project down to one directory. Nil has none. Rules never change.
type Rules struct {
	above *Rules
	base  string // the directory of the file; its rules are about paths below it
	rules []rule
}

type rule struct {
	pattern string // for doublestar
	not     bool   // !pattern
	dirs    bool   // pattern/
	path    bool   // about the path below base, not about a name
}

// The bounds of a file, in bytes and rules; the rest of a longer one is not read.
const (
	maxBytes = 1 << 20
	maxRules = 2000
)

// With returns the rules within the directory base, whose .gitignore file is r. base is relative to the project, with slashes; "" is the
// project. What cannot be read or understood excludes nothing.
func (ig *Rules) With(r io.Reader, base string) *Rules {
	out := &Rules{above: ig, base: base}
	lines := bufio.NewScanner(io.LimitReader(r, maxBytes))
	for lines.Scan() && len(out.rules) < maxRules {
		if r, ok := parse(lines.Text()); ok {
			out.rules = append(out.rules, r)
		}
	}
	if len(out.rules) == 0 {
		return ig
	}
	return out
}

// parse reads one line; ok is false for an empty line, a comment and a pattern that cannot match.
func parse(line string) (r rule, ok bool) {
	line = strings.TrimSuffix(line, "\r")
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if strings.HasPrefix(line, "#") {
		return r, false
	}
	line, r.not = strings.CutPrefix(line, "!")
	line, r.dirs = strings.CutSuffix(line, "/")
	r.path = strings.Contains(line, "/")
	r.pattern = strings.NewReplacer("{", `\{`, "}", `\}`, "[!", "[^").Replace(strings.TrimPrefix(line, "/"))
	return r, r.pattern != "" && doublestar.ValidatePattern(r.pattern)
}

// Match reports whether the rules exclude a path, given also by its last name. The last rule of the deepest file decides. What is
// in an excluded directory is excluded too, which Match does not look at.
func (ig *Rules) Match(path, name string, isDir bool) bool {
	for ; ig != nil; ig = ig.above {
		below := strings.TrimPrefix(strings.TrimPrefix(path, ig.base), "/")
		for i := len(ig.rules) - 1; i >= 0; i-- {
			if ig.rules[i].match(below, name, isDir) {
				return !ig.rules[i].not
			}
		}
	}
	return false
}

func (r *rule) match(below, name string, isDir bool) bool {
	if r.dirs && !isDir {
		return false
	}
	if r.path {
		return doublestar.MatchUnvalidated(r.pattern, below)
	}
	return doublestar.MatchUnvalidated(r.pattern, name)
}
