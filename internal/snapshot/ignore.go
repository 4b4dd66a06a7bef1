package snapshot

import (
	"bufio"
	"io"
	"os"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignores are the rules of the .gitignore files from the project down to one directory. Nil has none.
type ignores struct {
	above *ignores
	base  string // the directory of the file; its rules are about paths below it
	rules []rule
}

type rule struct {
	pattern string // for doublestar
	not     bool   // !pattern
	dirs    bool   // pattern/
	path    bool   // about the path below base, not about a name
}

// maxIgnore and maxRules bound a .gitignore file, in bytes and lines; the rest of a longer one is not read.
const (
	maxIgnore = 1 << 20
	maxRules  = 2000
)

// with returns the rules within the directory base, which may have a .gitignore file of its own.
func (ig *ignores) with(dir *os.Root, base, name string) *ignores {
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return ig
	}
	f, err := openSame(dir, name, info)
	if err != nil {
		return ig
	}
	defer f.Close()
	out := &ignores{above: ig, base: base}
	lines := bufio.NewScanner(io.LimitReader(f, maxIgnore))
	for lines.Scan() && len(out.rules) < maxRules {
		if r, ok := parseRule(lines.Text()); ok {
			out.rules = append(out.rules, r)
		}
	}
	if len(out.rules) == 0 {
		return ig
	}
	return out
}

// parseRule reads one line; ok is false for an empty line, a comment and a pattern that cannot match.
func parseRule(line string) (r rule, ok bool) {
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

// match reports whether the rules exclude a path. The last rule of the deepest file decides.
func (ig *ignores) match(path, name string, isDir bool) bool {
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
