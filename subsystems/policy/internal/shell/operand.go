package shell

import (
	"regexp"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/subsystems/policy/internal/paths"
	"github.com/grapnel-go/grapnel/subsystems/policy/internal/script"
)

// kinds returns the judge of one kind of operands; nil if there is no such kind.
func kinds(name string) func(*inspection, word) {
	switch name {
	case "text":
		return (*inspection).text
	case "lists":
		return (*inspection).lists
	case "reads":
		return (*inspection).reads
	case "writes":
		return (*inspection).written
	case "local":
		return (*inspection).local
	case "dir":
		return (*inspection).dir
	case "host":
		return (*inspection).host
	case "archive":
		return (*inspection).archive
	case "number", "remote", "refspec", "package", "target", "resource", "method":
		return func(s *inspection, w word) { s.form(name, w) }
	case "first":
		return func(s *inspection, _ word) { s.explicit = true }
	case "code":
		return (*inspection).code
	case "globs":
		return (*inspection).globs
	case "sed":
		return func(s *inspection, w word) { s.language(w, script.Sed) }
	case "awk":
		return func(s *inspection, w word) { s.language(w, script.Awk) }
	case "jq":
		return func(s *inspection, w word) { s.language(w, script.Jq) }
	}
	return nil
}

// text judges words that the program prints, compares or looks up.
func (s *inspection) text(w word) {
	switch {
	case subscript(w.text) && s.p.Level == Safe && s.p.Name != "echo" && builtins[s.p.Name]:
		s.dangerous("a shell calculates what stands in brackets, which can run commands", w.text)
	case w.secret:
		s.dangerous("it shows the value of a variable with the name of a secret", w.text)
	case w.expands:
		s.raise(Covered, "what "+s.p.Name+" gets is known only when it runs", shortened(w.text))
	case s.p.Level > Safe:
		s.generic(w)
	}
}

// builtins may calculate with their arguments.
var builtins = map[string]bool{"test": true, "[": true, "printf": true, "type": true, "help": true}

// forms have the operands that are harmless, by kind, and what the others may be.
var forms = map[string]struct {
	ok  *regexp.Regexp
	why string
}{
	"number":   {regexp.MustCompile(`^%?[0-9]{1,7}(\.[0-9]{1,6})?[smhd]?$`), "it is not a small number"},
	"remote":   {regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`), "it is not the name of a remote of the repository"},
	"refspec":  {regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_./@^~-]*(:[A-Za-z0-9][A-Za-z0-9_./-]*)?$`), "it deletes or overwrites what another machine has"},
	"package":  {regexp.MustCompile(`^(@[a-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*(\[[\w,-]*\])?([@=<>~!^]+[\w.^~*-]+)?$`), "it is not the name of a package"},
	"target":   {regexp.MustCompile(`^[A-Za-z0-9_.:/%-]+$`), "it is not the name of a target"},
	"resource": {regexp.MustCompile(`^[A-Za-z0-9_./,-]+$`), "it is not the name of a resource"},
	"method":   {regexp.MustCompile(`^(GET|HEAD|OPTIONS)$`), "the method can change things"},
}

func (s *inspection) form(kind string, w word) {
	f := forms[kind]
	if kind == "refspec" && w.text != "" && strings.ContainsAny(w.text[:1], "+:") {
		s.r.unseen(f.why, w.text)
	}
	switch {
	case w.expands || !f.ok.MatchString(w.text):
		s.dangerous(f.why, w.text)
	case kind == "resource" && strings.Contains(strings.ToLower(w.text), "secret"):
		s.dangerous("it shows secrets", w.text)
	case kind == "target":
		s.generic(w)
	}
}

// lists judges paths of which the program shows names and sizes alone.
func (s *inspection) lists(w word) {
	switch {
	case w.expands:
		s.raise(Covered, "which files it lists is known only when it runs", shortened(w.text))
	default:
		switch place, why := s.r.place(w); place {
		case paths.Private:
			s.raise(Forbidden, why, w.text)
		case paths.Network:
			s.dangerous(why, w.text)
		case paths.Sensitive:
			if !s.r.at().Contains(w.path()) {
				s.dangerous(why, w.text)
			}
		case paths.Outside, paths.Above, paths.Device:
			s.raise(Covered, "it is outside of the project", w.text)
		}
	}
}

// reads judges paths of files that the program shows.
func (s *inspection) reads(w word) {
	if w.text == "-" {
		return
	}
	s.secret(w)
	if w.expands {
		s.dangerous("which file it reads is known only when it runs", w.text)
		return
	}
	switch place, why := s.r.place(w); place {
	case paths.Private:
		s.raise(Forbidden, why, w.text)
	case paths.Sensitive, paths.Network, paths.Device, paths.Above:
		s.dangerous(why, w.text)
	case paths.Outside:
		s.raise(Covered, why, w.text)
	}
}

// written judges paths of files that the program changes.
func (s *inspection) written(w word) {
	if w.expands {
		s.dangerous("which file it changes is known only when it runs", w.text)
		return
	}
	switch place, why := s.r.place(w); place {
	case paths.Private:
		s.raise(Forbidden, why, w.text)
	case paths.Device:
		s.dangerous(why, w.text)
	case paths.Inside:
		if why := s.r.at().Guarded(w.path()); why != "" && !(s.writes && s.r.at().IsRoot(w.path())) {
			s.dangerous(why, w.text)
		}
	case paths.Public:
		if w.text != "/dev/null" {
			s.dangerous("it is outside of the project", w.text)
		}
	default:
		s.dangerous(why, w.text)
	}
}

// archive judges the file of an archive. A colon in it names another machine.
func (s *inspection) archive(w word) {
	if strings.Contains(w.text, ":") {
		s.dangerous("the archive is on another machine", w.text)
	}
	s.written(w)
}

// local judges what the project has and the program runs or compiles: a path in the project, or a name.
func (s *inspection) local(w word) {
	if s.writes {
		s.written(w)
		return
	}
	w.text, _, _ = strings.Cut(w.text, "::") // a test within a file
	place, why := s.r.place(w)
	switch {
	case w.text == "-" || w.text == "/dev/stdin":
		s.dangerous("it runs what it gets from standard input", w.text)
	case w.expands:
		s.dangerous("which code it runs is known only when it runs", w.text)
	case strings.ContainsAny(w.text, "@:="):
		s.dangerous("the code is not of the project", w.text)
	case place == paths.Private:
		s.raise(Forbidden, why, w.text)
	case place != paths.Inside:
		s.dangerous("the code is outside of the project", w.text)
	}
}

// dir judges the directory in which the rest of the line runs.
func (s *inspection) dir(w word) {
	if w.expands || strings.Contains(w.text, string(Unknown)) && !w.home {
		s.dangerous("in which directory the rest runs is known only when it runs", w.text)
		return
	}
	switch place, why := s.r.place(w); {
	case w.text == "-":
		s.dangerous("the directory is known only when it runs", w.text)
	case place == paths.Private:
		s.raise(Forbidden, why, w.text)
	case place != paths.Inside:
		s.dangerous("the directory is outside of the project", w.text)
	case s.r.at().Guarded(w.path()) != "" && !s.r.at().IsRoot(w.path()):
		s.r.inGit = s.r.inGit || s.r.at().OwnFiles(w.path())
		s.dangerous(s.r.at().Guarded(w.path()), w.text)
	case !s.r.at().IsRoot(w.path()):
		s.r.moved = true
	}
}

// scheme is the beginning of the addresses that a pattern may name.
var scheme = regexp.MustCompile(`^(https?://|git@|ssh://|git://|@)`)

// host judges an address. A pattern covers it if it names the host.
func (s *inspection) host(w word) {
	if w.expands || strings.Contains(w.text, string(Unknown)) {
		s.dangerous("what it reaches is known only when it runs", w.text)
		return
	}
	begin := len(scheme.FindString(w.text))
	switch rest := w.text[begin:]; {
	case strings.Contains(rest, "://") && !strings.ContainsAny(rest[:strings.Index(rest, "://")], "/?#"), strings.Contains(rest, "::"):
		s.dangerous("it is an address of another kind", w.text)
		return
	case strings.HasPrefix(rest, "-"):
		s.dangerous("it is a flag", w.text)
		return
	}
	s.address(w)
	end := begin + len(w.text[begin:])
	if i := strings.IndexAny(w.text[begin:], `/?#\`); i >= 0 {
		end = begin + i + 1
	}
	s.fix(s.at + end)
	if s.quiet {
		return
	}
	s.r.script.note(Covered, "it contacts this address", w.text[:end])
}

// metadata are the addresses where a cloud gives its secrets to programs.
var metadata = regexp.MustCompile(`(?i)169\.254\.\d+\.\d+|2852039166|0xa9fe|0251\.0?376|metadata\.google|metadata\.azure|fd00:ec2:|::ffff:a9fe|100\.100\.100\.200|192\.0\.0\.192`)

// address judges a value that may be an address.
func (s *inspection) address(w word) {
	if metadata.MatchString(w.text) {
		s.dangerous("a cloud gives secrets at this address", w.text)
	}
}

// language judges a word that is a program in a language of its own.
func (s *inspection) language(w word, problem func(string) string) {
	s.explicit = true
	s.code(w)
	if w.expands || strings.Contains(w.text, string(Unknown)) {
		s.dangerous("what "+s.p.Name+" does is known only when it runs", w.text)
		return
	}
	if why := problem(w.text); why != "" {
		s.dangerous(why, w.text)
	}
}

// generic judges an argument of a program of which the table does not say what its arguments are.
func (s *inspection) generic(w word) {
	s.address(w)
	for n, text := range pathsIn(w.text) {
		v := w
		v.text, v.home = text, w.home && strings.HasPrefix(text, string(Unknown))
		if s.p != nil && (n > 0 || s.shows(w)) {
			s.secret(v)
		}
		switch place, why := s.r.place(v); place {
		case paths.Private:
			s.raise(Forbidden, why, w.text)
		case paths.Sensitive, paths.Network:
			s.dangerous(why, w.text)
		case paths.Above:
			if s.p == nil && len(w.text) > 1 && !strings.HasPrefix(w.text, ".") {
				s.dangerous(why, w.text)
			}
		case paths.Device:
			if s.p == nil {
				s.dangerous(why, w.text)
			}
		}
	}
	if strings.Contains(w.text, "/dev/tcp/") || strings.Contains(w.text, "/dev/udp/") {
		s.dangerous("it reaches another machine", w.text)
	}
}

// gitShows are the commands of git that show what is in files.
var gitShows = []string{"git show", "git log", "git whatchanged", "git blame", "git annotate", "git grep"}

// shows reports whether the program shows what is in the files that its operands name. Most commands of git do not, nor what the words
// are that a program searches for.
func (s *inspection) shows(w word) bool {
	if s.p.Name == "git grep" && !s.explicit && len(s.operands) > 0 && w == s.words[s.operands[0]] {
		return false
	}
	return !strings.HasPrefix(s.p.Name, "git ") || slices.Contains(gitShows, s.p.Name)
}

// pathsIn returns the texts in an argument that may be a path: all of it, and what stands behind =, : and @.
func pathsIn(text string) []string {
	out := []string{text}
	for i := 0; i < len(text) && len(out) < 8; i++ {
		if strings.IndexByte("=:@,", text[i]) >= 0 && i+1 < len(text) {
			out = append(out, strings.TrimPrefix(text[i+1:], "file://"))
		}
	}
	return out
}

// runs are parts of the names of flags with which programs run other programs.
var runs = regexp.MustCompile(`(?i)^--?([a-z0-9]+-)*(exec|execute|command|cmd|eval|shell|editor|pager|preload|pre|interpreter|to-program|program|proxycommand|preprocessor|prog|filter-cmd|hook|script|require|loader|plugin|config|rcfile|init-file)(-[a-z0-9]+)*$`)

// unknownProgram judges a program that the table does not have. A rule may cover it, but not where its arguments say that it runs
// a command or is about secrets.
func (s *inspection) unknownProgram() {
	for _, w := range s.words[1:] {
		name, _, _ := strings.Cut(w.text, "=")
		switch {
		case len(name) > 3 && runs.MatchString(name):
			s.dangerous(name+" may make it run another program", s.whole)
		case strings.Contains(w.text, "$(") || strings.Contains(w.text, "`"):
			s.dangerous("an argument has a command in it", w.text)
		case w.secret:
			s.dangerous("it gets the value of a variable with the name of a secret", w.text)
		}
		s.generic(w)
	}
}
