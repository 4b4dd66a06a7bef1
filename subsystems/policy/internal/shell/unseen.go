package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/grapnel-go/grapnel/subsystems/policy/internal/programs"
	"github.com/grapnel-go/grapnel/subsystems/policy/internal/script"
)

// A sandbox that lets commands write the project sees no difference between a commit and a rewritten one, and none between a file
// of the project and a file with a password in it. This file finds these: history that is rewritten or lost, the repository's own
// files, and credentials of the project that are read. The table of programs marks subcommands and flags of git with the word unseen.

// unseen keeps a finding of what a sandbox cannot see, once.
func (r *reader) unseen(reason, part string) {
	f := Finding{Dangerous, reason, shortened(part)}
	if len(r.script.Unseen) < maxNotes && !slices.Contains(r.script.Unseen, f) {
		r.script.Unseen = append(r.script.Unseen, f)
	}
}

// unseenOf keeps all that a sandbox cannot see of another script.
func (r *reader) unseenOf(s Script) {
	for _, f := range s.Unseen {
		r.unseen(f.Reason, f.Part)
	}
}

// maxFed limits the texts that are read because a program may run them, and texts within texts, in bytes. Each counts as perText more.
const maxFed, perText = 500_000, 500

// feed counts such a text, and reports whether it is read. Nobody knows what the others lose.
func (r *reader) feed(text string) bool {
	if *r.fedBytes += len(text) + perText; *r.fedBytes > maxFed {
		r.unseen("it gives programs more texts than can be read", r.line)
	}
	return *r.fedBytes <= maxFed
}

// fed collects what a text loses that a program may get as commands.
func (r *reader) fed(text string) {
	if text == "" || !r.feed(text) {
		return
	}
	text = strings.ReplaceAll(text, string(Unknown), "${x}") // the parser drops it
	r.unseenOf(r.read(text, r.depth+1))
}

// loses collects what words lose that may be a command, and nothing else. Where the program is not known, it may be git or one that
// writes its operands.
func (r *reader) loses(words []word, whole string) {
	if end := slices.IndexFunc(words, func(w word) bool { return w.text == ";" || w.text == "+" }); end > 0 {
		words = words[:end] // the end of find -exec
	}
	words = words[:min(len(words), maxArgs)]
	name := words[0].base()
	switch sub, git := strings.CutPrefix(name, "git-"); {
	case git:
		r.quietly("git", append([]word{{text: "git"}, {text: sub}}, words[1:]...), whole)
	case !words[0].unknown():
		r.quietly(name, words, whole)
	case len(words) > 1 && programs.Table()["git "+words[1].text] != nil:
		r.quietly("git", words, whole)
	default:
		for _, w := range words[1:] {
			if r.at().OwnFiles(w.path()) {
				r.unseen("it may change the repository's own files", w.text)
			}
		}
	}
}

// verbs collects what words lose that have a command somewhere.
func (r *reader) verbs(words []word) {
	texts := joined(words)
	for i, w := range words {
		name := word{text: w.text[strings.LastIndexByte(w.text, '=')+1:]}
		if oneOf(name.base(), "git rm mv find") {
			r.loses(append([]word{name}, words[i+1:min(len(words), i+maxArgs)]...), texts[i])
		}
	}
}

// quietly judges words as a command of a program without any finding but the unseen ones.
func (r *reader) quietly(name string, words []word, whole string) {
	moved, git := r.moved, r.inGit
	s := inspection{r: r, words: words, whole: shortened(whole), sub: 1, ends: make([]int, len(words)), quiet: true}
	s.program(name)
	r.moved, r.inGit = moved, git
}

// repository finds commands that lose or rewrite what the repository has, after the flags were read.
func (s *inspection) repository() {
	p, operands := s.p, s.operands
	if p.Unseen && !s.seen && (p.Seen == 0 || len(operands) > p.Seen) {
		s.r.unseen(s.about(), s.whole)
	}
	dashes := slices.IndexFunc(s.words, func(w word) bool { return w.text == "--" })
	var first word
	if len(operands) > 0 && (dashes < 0 || operands[0] < dashes) {
		first = s.words[operands[0]]
	}
	switch p.Name {
	case "git":
		if first.unknown() {
			s.r.unseen("which command of git it runs is known only when it runs", s.whole)
		}
	case "git reset":
		if first.text != "" && !oneOf(first.text, "HEAD @ .") {
			s.r.unseen("it moves the branch, which then lacks later commits", s.whole)
		}
	case "git checkout":
		if s.overwrites(dashes) {
			s.r.unseen("it replaces files, which loses what was not committed", s.whole)
		}
	case "git init":
		if first.text == "" && !s.r.moved || s.r.at().IsRoot(first.path()) {
			s.r.unseen("it sets the repository up again if there is one", s.whole)
		}
	case "git pull":
		if hasPrefix(s.words, "--reb") || hasPrefix(s.words, "-r") {
			s.r.unseen("it rewrites the commits that were not pushed", s.whole)
		}
	case "find":
		s.finds()
	}
	s.carries()
}

// overwrites reports whether git checkout replaces files. One word that may be a branch or a file counts as a branch, unless it has the
// look of a file.
func (s *inspection) overwrites(dashes int) bool {
	for n, i := range s.operands {
		text := s.words[i].text
		last := text[strings.LastIndexByte(text, '/')+1:]
		if n > 0 || dashes >= 0 && i > dashes || last == "" || last[0] == '.' || strings.HasPrefix(text, ":") || path.Ext(last) != "" && strings.Trim(path.Ext(last), ".0123456789") != "" {
			return true
		}
	}
	return false
}

// carries collects what the arguments lose of a program that may run them as a command: one that the table does not have, one that can
// run others, and one that runs what follows.
func (s *inspection) carries() {
	p := s.p
	switch {
	case p != nil && p.Level < Dangerous && !(p.Rest && len(p.Kinds) > 0 && p.Kinds[0] == "text"):
		return
	case p == nil && other(canonical(s.words[0].base()), s.words[1:]) == opaque && !oneOf(s.words[0].base(), "source ."):
		return // its arguments are suspects
	}
	texts := joined(s.words)
	for i := 1; i < min(len(s.words), maxArgs); i++ {
		w := s.words[i]
		switch own := programs.Table()[canonical(w.base())]; {
		case w.blank:
			s.code(w)
		case own != nil && own != p && !strings.HasPrefix(w.text, "-"):
			s.r.loses(s.words[i:], texts[i])
		}
		if named := w.text + " " + s.words[i-1].text; !strings.Contains(named, "exclu") && !strings.Contains(named, "ignore") {
			s.secrets(w)
		}
	}
}

// code collects what a text loses that is, or has, a program: commands of a shell, one of them as the value of a setting, and what
// stands between quotes.
func (s *inspection) code(w word) {
	s.address(w)
	s.r.fed(w.text)
	if name, value, ok := strings.Cut(w.text, "="); ok {
		if command, shell := strings.CutPrefix(value, "!"); shell || !strings.HasPrefix(name, "alias.") {
			s.r.fed(command)
		} else {
			s.r.fed("git " + value)
		}
	}
	quoted := script.Quoted(w.text)
	words := make([]word, len(quoted))
	for i, text := range quoted {
		words[i] = word{text: text, blank: strings.ContainsAny(text, " \t\n") || text == ""}
	}
	texts := joined(words)
	for i, v := range words {
		switch {
		case v.text == "":
			continue
		case v.blank:
			s.r.fed(v.text)
		case v.base() == "git" || v.base() == "rm":
			s.r.loses(words[i:], texts[i])
		}
		s.target(v)
		s.secret(v)
	}
}

// globs judges a pattern for the names of files that the program reads, "!" in front for those that it does not.
func (s *inspection) globs(w word) {
	text := strings.NewReplacer("*", string(Unknown), "?", string(Unknown)).Replace(w.text)
	if v := (word{text: text}); !strings.HasPrefix(text, "!") && s.r.at().Keeps(v.path()) {
		s.dangerous("its name says that it has secrets", w.text)
		s.secret(v)
	}
}

// touched finds operands that a program writes, deletes or moves. last: it is the last operand.
func (s *inspection) touched(w word, last bool) {
	switch name := s.p.Name; {
	case oneOf(name, "rm unlink srm shred trash trash-put rimraf"):
		s.gone(w)
	case oneOf(name, "cp mv install") && !last:
		s.secret(w)
		if name == "mv" {
			s.gone(w)
		} else if strings.HasSuffix(w.text, "/.git") && s.r.at().IsRoot(s.words[s.operands[len(s.operands)-1]].path()) {
			s.r.unseen("it changes the repository's own files", w.text)
		}
	default:
		s.target(w)
	}
}

// target finds a file of the repository itself that is written.
func (s *inspection) target(w word) {
	if s.r.at().OwnFiles(w.path()) {
		s.r.unseen("it changes the repository's own files", w.text)
	}
}

// gone finds what is deleted or moved: files of the repository itself, and the project with it.
func (s *inspection) gone(w word) {
	switch {
	case s.r.at().OwnFiles(w.path()):
		s.r.unseen("it deletes or moves the repository's own files", w.text)
	case s.r.at().IsProject(w.path()):
		s.r.unseen("it deletes or moves the project with its repository", w.text)
	}
}

// secret finds a file of the project that has secrets by its name and is read.
func (s *inspection) secret(w word) {
	if s.r.at().Keeps(w.path()) {
		s.r.unseen("its name says that it has secrets", w.text)
	}
}

// secrets finds such files also behind =, : and @ in a word.
func (s *inspection) secrets(w word) {
	s.secret(w)
	for _, text := range pathsIn(w.text)[1:] {
		s.secret(word{text: text})
	}
}

// finds judges what find deletes, and which secrets it hands to a program.
func (s *inspection) finds() {
	texts := make([]string, len(s.words)-1)
	for i, w := range s.words[1:] {
		texts[i] = w.text
	}
	search := script.Find(texts)
	for _, start := range search.Starts {
		w := word{text: start}
		if search.Deletes && (s.r.at().OwnFiles(w.path()) || s.r.at().IsProject(w.path()) && !search.Narrow || search.Git) {
			s.r.unseen("it deletes the repository's own files", s.whole)
		}
	}
	for _, name := range search.Read {
		s.secret(word{text: name})
	}
}

// startsShell reports whether a word of a command names a shell or a builtin that may run text.
func startsShell(s *syntax.Stmt) bool {
	c, ok := s.Cmd.(*syntax.CallExpr)
	return ok && slices.ContainsFunc(c.Args, func(w *syntax.Word) bool {
		return oneOf(word{text: w.Lit()}.base(), "sh ash bash dash fish ksh mksh zsh source . eval")
	})
}

// substituted collects what commands print in the substitutions of a shell's words.
func (r *reader) substituted(s *syntax.Stmt) {
	syntax.Walk(s, func(n syntax.Node) bool {
		var list []*syntax.Stmt
		switch n := n.(type) {
		case *syntax.CmdSubst:
			list = n.Stmts
		case *syntax.ProcSubst:
			list = n.Stmts
		default:
			return true
		}
		for _, one := range list {
			r.printed(one)
		}
		return false
	})
}

// printed collects what the words and here-documents of a command lose if a shell gets them as commands.
func (r *reader) printed(s *syntax.Stmt) {
	if !r.feed("") {
		return
	}
	syntax.Walk(s, func(n syntax.Node) bool {
		if *r.fedBytes > maxFed {
			return false
		}
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.CallExpr:
			words := make([]word, len(n.Args))
			for i, a := range n.Args {
				words[i].text = static(a, false)
			}
			texts := joined(words)
			for i := 1; i < min(len(words), maxArgs); i++ {
				if i == 1 || strings.ContainsAny(words[i].text, " \t\n") {
					r.fed(texts[i])
				}
			}
		case *syntax.Redirect:
			r.fed(static(n.Hdoc, true))
		}
		return true
	})
}

// static returns the text of a word or, raw, of a here-document, with [Unknown] for each part that is known only when it runs.
func static(w *syntax.Word, raw bool) string {
	var sb strings.Builder
	if w == nil {
		return ""
	}
	parts := slices.Clone(w.Parts)
	for len(parts) > 0 {
		p := parts[0]
		parts = parts[1:]
		switch p := p.(type) {
		case *syntax.Lit:
			if raw {
				sb.WriteString(p.Value)
			} else {
				literal(&sb, p.Value, false, false)
			}
		case *syntax.SglQuoted:
			sb.WriteString(p.Value)
		case *syntax.DblQuoted:
			parts = append(slices.Clone(p.Parts), parts...)
		default:
			sb.WriteRune(Unknown)
		}
	}
	return sb.String()
}
