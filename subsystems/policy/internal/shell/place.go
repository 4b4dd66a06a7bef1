package shell

import (
	"strings"

	"github.com/grapnel-go/grapnel/subsystems/policy/internal/paths"
)

// at is the project as the line has left it.
func (r *reader) at() paths.Project {
	return paths.Project{Root: r.Root, Home: r.Home, Private: r.Private, Moved: r.moved, InGit: r.inGit}
}

// path is the word as a path.
func (w word) path() paths.Word {
	return paths.Word{Text: w.text, Home: w.home, Pwd: w.pwd, Braces: w.braces}
}

// place judges the path in a word, and says why if it is not inside.
func (r *reader) place(w word) (paths.Place, string) { return r.at().Place(w.path()) }

// wholeSystem reports whether a word is a system directory or the home directory, or all that is in it.
func (r *reader) wholeSystem(w word) bool { return r.at().WholeSystem(w.path()) }

// private forbids what names a directory of the program itself, but not as a text that is printed or searched for.
func (s *inspection) private() {
	name, operands := canonical(s.words[0].base()), 0
	if len(s.r.Private) == 0 || name == "echo" || name == "printf" {
		return
	}
	for _, w := range s.words[1:] {
		if !strings.HasPrefix(w.text, "-") {
			operands++
		}
		if !strings.Contains(w.text, "/") || operands == 1 && oneOf(name, "grep egrep fgrep rg sed awk jq") {
			continue
		}
		for _, text := range pathsIn(w.text) {
			v := word{text: strings.TrimPrefix(text, "-"), home: w.home && text == w.text}
			if place, why := s.r.place(v); place == paths.Private {
				s.raise(Forbidden, why, w.text)
			}
		}
	}
}
