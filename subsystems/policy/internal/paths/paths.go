// Package paths judges the paths in a command line by their names: where they lead, whether they have secrets, and whether they are
// files of a repository itself. It reads no directory, so that it does not see links.
package paths

import (
	"path"
	"slices"
	"strings"
)

// Unknown stands in a path for each part that is known only when the line runs.
const Unknown = '\x00'

// Place says what is known of a path.
type Place int

// The places.
const (
	Inside    Place = iota // below the project's root
	Public                 // outside, and the same on every machine
	Outside                // elsewhere
	Above                  // a directory with more than the project below it
	Sensitive              // its name says that it has secrets
	Device                 // a device, or what the kernel shows as a file
	Network                // another machine's
	Private                // the program's own
)

// Project is where a command line runs. The zero Project knows no directories: then every absolute path is outside of it.
type Project struct {
	// Root is the project and the directory in which lines run, Home the home directory. Both are absolute, with slashes.
	Root, Home string
	// Private are directories of the program itself.
	Private []string
	// Moved: the line has changed the directory. InGit: to one of a repository itself.
	Moved, InGit bool
}

// Word is a path as it stands in a line.
type Word struct {
	// Text has [Unknown] for each unknown part.
	Text string
	// Home: the first part is $HOME. Pwd: it is $PWD.
	Home, Pwd bool
	// Braces is the text of a word of which braces may make several; "" if they do not.
	Braces string
}

// Place judges the path in a word, and says why if it is not inside.
func (p Project) Place(w Word) (Place, string) {
	text := strings.TrimPrefix(w.Text, "file://")
	if w.Home {
		text = "~" + text[1:]
	}
	low := strings.ToLower(strings.ReplaceAll(text, `\`, "/"))
	if strings.HasPrefix(low, "//") {
		return Network, "it may be on another machine"
	}
	abs, rel, in := p.resolve(text)
	if p.isPrivate(abs) {
		return Private, "it is the daemon's own"
	}
	name := low
	if in {
		name = strings.ToLower(rel)
	}
	if named, why := byName(name); named != Inside && (named == Sensitive || !in) {
		return named, why
	}
	if in {
		return Inside, ""
	}
	if p.WholeSystem(w) || strings.HasPrefix(p.Root+"/", strings.TrimSuffix(abs, "/")+"/") || strings.HasPrefix(p.Home+"/", strings.TrimSuffix(abs, "/")+"/") {
		return Above, "below it is more than the project"
	}
	if strings.HasPrefix(low, "~/.") || p.Home != "" && strings.HasPrefix(abs, p.Home+"/.") {
		return Sensitive, "what lies there is not of the project"
	}
	return Outside, "it is outside of the project"
}

// isPrivate reports whether a path is in a directory of the program itself, or may be by a glob.
func (p Project) isPrivate(abs string) bool {
	for _, dir := range p.Private {
		rest, all := strings.TrimPrefix(abs, "/"), true
		for part := range strings.SplitSeq(strings.TrimPrefix(dir, "/"), "/") {
			var own string
			own, rest, _ = strings.Cut(rest, "/")
			first, last, glob := strings.Cut(own, string(Unknown))
			if own != part && !(glob && strings.HasPrefix(part, first) && strings.HasSuffix(part, last[strings.LastIndexByte(last, byte(Unknown))+1:])) {
				all = false
				break
			}
		}
		if all {
			return true
		}
	}
	return false
}

// resolve returns the absolute path of a text and, if that is below the root, the path from there.
func (p Project) resolve(text string) (abs, rel string, in bool) {
	if text == "~" || strings.HasPrefix(text, "~/") {
		if p.Home == "" {
			return text, "", false
		}
		text = p.Home + text[1:]
	}
	if strings.HasPrefix(text, "~") {
		return text, "", false
	}
	if path.IsAbs(text) {
		abs = path.Clean(text)
	} else {
		if up := path.Clean(text); up == ".." || strings.HasPrefix(up, "../") || p.Moved && strings.Contains(text, "..") {
			return path.Join(p.Root, up), "", false
		}
		abs = path.Join("/", p.Root, text)
	}
	root := path.Join("/", p.Root)
	switch {
	case !path.IsAbs(text) && p.Root == "":
		return abs, path.Clean(text), true
	case p.Root == "":
		return abs, "", false
	case abs == root:
		return abs, ".", true
	}
	rel, in = strings.CutPrefix(abs, root+"/")
	return abs, rel, in
}

// relative returns the path of a word from the root of the project; false if it lies elsewhere. After a change of the directory, a way up
// may lead anywhere in the project.
func (p Project) relative(w Word) (rel string, in bool) {
	text := strings.TrimPrefix(strings.TrimPrefix(w.Text, "file://"), "of=")
	switch {
	case w.Home && text != "":
		text = "~" + text[1:]
	case w.Pwd && text != "":
		text = "." + text[1:]
	}
	abs, rel, in := p.resolve(text)
	switch {
	case in:
		return rel, true
	case p.Moved && strings.HasPrefix(text, ".."):
		return text, true
	case abs == path.Clean(p.Root):
		return ".", true
	case p.Root == "":
		return "", false
	}
	return strings.CutPrefix(abs, strings.TrimSuffix(p.Root, "/")+"/")
}

// Contains reports whether a word is the root of the project or below it.
func (p Project) Contains(w Word) bool {
	_, _, in := p.resolve(w.Text)
	return in
}

// IsRoot reports whether a word is the root of the project.
func (p Project) IsRoot(w Word) bool {
	_, rel, in := p.resolve(w.Text)
	return in && rel == "." && !p.Moved
}

// Guarded says why a path in the project is not written by a pattern; "" if nothing is special about it.
func (p Project) Guarded(w Word) string {
	_, rel, in := p.resolve(w.Text)
	switch {
	case !in:
		return "it is outside of the project"
	case rel == "." || strings.Trim(rel, string(Unknown)+"/.") == "":
		return "it is all of the project"
	}
	for part := range strings.SplitSeq(strings.ToLower(rel), "/") {
		if named(part, guardedNames) {
			return "other programs load or run what is there"
		}
	}
	return ""
}

// WholeSystem reports whether a word is a system directory or the home directory, or all that is in it.
func (p Project) WholeSystem(w Word) bool {
	text := w.Text
	if w.Home {
		text = "~" + text[1:]
	}
	for _, all := range []string{"/" + string(Unknown), "/." + string(Unknown), "/" + string(Unknown) + string(Unknown)} {
		text = strings.TrimSuffix(text, all)
	}
	if text == "" {
		text = "/"
	}
	if strings.HasPrefix(text, "~") && !strings.Contains(text, "/") {
		return true // the home of somebody
	}
	if text[0] != '/' && text[0] != '~' {
		return false
	}
	clean := strings.ToLower(path.Clean(text))
	if p.Home != "" && path.Clean(text) == path.Clean(p.Home) || clean == "~/.." {
		return true
	}
	for _, dir := range systemDirs {
		if clean == dir {
			return true
		}
	}
	return false
}

// OwnFiles reports whether a word is, or may be by a glob, a file of a repository itself, below the project.
func (p Project) OwnFiles(w Word) bool {
	if slices.ContainsFunc(w.alternatives(), mayBeGit) {
		return true
	}
	rel, in := p.relative(w)
	if in && p.InGit && !path.IsAbs(w.Text) {
		return true
	}
	for part := range strings.SplitSeq(strings.ToLower(rel), "/") {
		if in && mayBeGit(part) {
			return true
		}
	}
	return false
}

// alternatives are the parts of paths that braces may make.
func (w Word) alternatives() []string {
	return strings.FieldsFunc(strings.ToLower(w.Braces), func(c rune) bool { return strings.ContainsRune("{},/", c) })
}

// IsProject reports whether a word is the project or a directory above it.
func (p Project) IsProject(w Word) bool {
	rel, in := p.relative(w)
	if in {
		absolute := path.IsAbs(w.Text) || w.Home || strings.HasPrefix(w.Text, "~")
		return strings.Trim(rel, "./") == "" && (!p.Moved || absolute || rel != ".")
	}
	abs, _, _ := p.resolve(w.Text)
	return path.IsAbs(abs) && strings.HasPrefix(path.Clean(p.Root)+"/", strings.TrimSuffix(abs, "/")+"/")
}

// Keeps reports whether a word is a file of the project with secrets by its name. The sources of a program are none, wherever they lie.
func (p Project) Keeps(w Word) bool {
	secret := func(name string) bool { return named(name, sensitiveNames) && !named(name, harmlessNames) }
	rel, in := p.relative(w)
	switch {
	case slices.ContainsFunc(w.alternatives(), secret):
		return true
	case !in || rel == ".":
		return false
	}
	name := strings.ToLower(rel)
	if named, _ := byName(name); named != Sensitive {
		return false
	}
	last := path.Base(name)
	return named(last, sensitiveNames) || !named(last, harmlessNames) || strings.HasPrefix(name, ".")
}
