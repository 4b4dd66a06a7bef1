// Package shell reads a command line like bash, returns the simple commands that it runs, and judges each
// of them and the line.
//
// It never guesses in favour of a command. Unclear parts show as [Unknown] in a word,
// as an Opaque command, or as the script's Doubt; Suspects has commands that may run.
// To allow a line, require that all its commands are known and allowed. To deny one,
// check the suspects too.
//
//	s := shell.Read("git log | xargs rm")
//	// s.Commands: "git log", "rm \x00"; s.Doubt: ""
//
// What it knows of programs is the table of package programs, with one entry for each: which flags and operands are
// harmless, and why others are not. A program or a flag that is not there is not known to be harmless. The
// finding of a command says whether a rule with a wildcard may cover it; [Finding.Verdict] is that of the line.
//
// It does not read files: what a script, a build file or a plugin does is not in the line.
package shell

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/grapnel-go/grapnel/subsystems/policy/internal/paths"
	"github.com/grapnel-go/grapnel/subsystems/policy/internal/programs"
)

// Unknown stands in a command's text for a part that is unknown before it runs: the
// value of a variable, the output of a command, the files that a glob finds. It may
// become any text, of several words or of none.
const Unknown = paths.Unknown

// These limits bound the time to read any line: a nested line costs the square of its
// depth. A line beyond them has a Doubt, and suspects that ignore its quotes.
const (
	maxLength = 32 << 10 // bytes of a line
	maxOpen   = 1000     // opening parentheses in it
	maxText   = 4        // texts of commands within texts of commands
	maxChain  = 16       // commands in a chain that each run only the next one
	maxArgs   = 500      // arguments of a command that runs its arguments
)

// Script has the commands of a command line.
type Script struct {
	// Commands has the commands that are known to run, in the order of the text.
	Commands []Command
	// Suspects may run as well. An empty list is no guarantee: see Doubt and
	// Command.Opaque.
	Suspects []Command
	// Doubt is why the line may do more than run Commands, as a sentence without a full
	// stop; "" if it cannot.
	Doubt string
	// Complex: the line is more than a list of commands, such as a loop, or something stays in the background.
	Complex bool
	// Finding is the strictest finding about the line.
	Finding
	// Notes are all findings, in the order in which they were made, up to 50. They say what the
	// line touches, and what cannot be known of it.
	Notes []Finding
	// Unseen is what a sandbox of the project cannot see, up to 50 findings of the level Dangerous: history that is rewritten or lost,
	// the repository's own files that are changed, and credentials of the project that are read. A line that is not understood
	// has none for that reason: a sandbox contains it.
	Unseen []Finding
}

// Local reports whether the line is known to reach no other machine by itself, and to do nothing dangerous. What a script, a build
// file or a test reaches is not in the line.
func (s *Script) Local() bool {
	for _, c := range s.Commands {
		if !c.Local {
			return false
		}
	}
	return len(s.Commands) > 0 && len(s.Suspects) == 0 && s.Doubt == "" && s.Level < Dangerous
}

// Command is one simple command.
type Command struct {
	// Text is the words without their quotes, with one blank between them: first
	// the assignments, then the program and its arguments. An empty word is ''.
	Text string
	// Plain is Text without the assignments and without the directory of the
	// program.
	Plain string
	// Opaque: the program runs other programs that are not known. Its first word alone
	// does not say what it does.
	Opaque bool
	// Transparent: the program only runs another one, which is in Commands.
	Transparent bool
	// Local: the program is known, and it reaches no other machine by itself.
	Local bool
	// Quoted: a word has blanks or is empty, so that Text does not say where words end.
	Quoted bool
	// Finding is what the command may do by itself.
	Finding
	// Fixed counts the bytes of Text that a pattern must have without a wildcard to cover the command.
	Fixed int
	// Class is the beginning of the commands for which one answer of a person may count: the program
	// and its subcommand. "" is none.
	Class string
}

// Reader reads the command lines of a project. The zero Reader knows no directories: then every absolute path is outside of the
// project. It is safe for concurrent use.
type Reader struct {
	// Root is the project and the directory in which lines run, Home the home directory. Both are absolute, with slashes.
	Root, Home string
	// Private are directories of the program itself. No rule covers a command that names them.
	Private []string
	// fedBytes counts the texts that programs may run, for all readers of a line.
	fedBytes *int
}

// Read reads a command line for the zero Reader.
func Read(line string) Script { return Reader{}.Read(line) }

// Read reads a command line. It never fails: a line with a syntax error has a Doubt, and
// suspects. The time is linear in the length.
func (r Reader) Read(line string) Script {
	r.fedBytes = new(int)
	return r.read(line, 0)
}

func (all Reader) read(line string, depth int) Script {
	r := reader{Reader: all, depth: depth, line: line}
	switch {
	case len(line) > maxLength || strings.Count(line, "(") > maxOpen:
		return r.unreadable("it is too long or too deep to be read")
	case depth > maxText:
		return r.unreadable("it runs text of commands within text of commands, too deep to be read")
	}
	if odd(line) {
		r.doubt("it contains characters that do not show", nil)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return r.unreadable("it cannot be read as a shell would")
	}
	r.stmts(file.Stmts)
	return r.script
}

// unreadable returns a script with the doubt, and with all that may be a command as a suspect.
func (r *reader) unreadable(why string) Script {
	r.doubt(why, nil)
	r.script.Suspects = pieces(r.line)
	for _, c := range r.script.Suspects {
		var words []word
		for text := range strings.FieldsSeq(strings.ReplaceAll(c.Text, "*", string(Unknown))) {
			words = append(words, word{text: text})
		}
		r.forbidden(words, c.Text)
		r.verbs(words)
	}
	return r.script
}

// forbidden raises the finding if the words are a command that no rule covers.
func (r *reader) forbidden(words []word, whole string) {
	s := inspection{r: r, words: words, whole: whole}
	s.destroys()
	s.private()
	r.script.raise(s.Level, s.Reason, s.Part)
	if p := programs.Table()[canonical(words[0].base())]; p != nil || words[0].unknown() || strings.HasPrefix(words[0].base(), "git-") {
		r.loses(words, whole)
	}
}

// odd reports whether a shell or a person may misread the line: it has a carriage return,
// a control character, a character without width, or a byte that is not UTF-8.
func odd(line string) bool {
	for i, c := range line {
		switch {
		case c == '\n' || c == '\t':
		case c == utf8.RuneError:
			if _, size := utf8.DecodeRuneInString(line[i:]); size == 1 {
				return true
			}
		case !unicode.IsPrint(c), c > unicode.MaxASCII && unicode.In(c, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point), c == '\u2800':
			return true
		}
	}
	return false
}

// reader walks the syntax tree.
type reader struct {
	Reader
	script Script
	depth  int
	line   string
	// moved: the line has changed the directory. inGit: to one of the repository itself.
	moved, inGit bool
}

// doubt keeps the first reason. The node is the part of the line that it is about; nil is all of it.
func (r *reader) doubt(why string, n syntax.Node) {
	if r.script.Doubt == "" {
		r.script.Doubt = why
	}
	r.script.raise(Dangerous, why, r.source(n))
}

// source returns the text of a node.
func (r *reader) source(n syntax.Node) string {
	text := r.line
	if n != nil {
		if from, to := int(n.Pos().Offset()), int(n.End().Offset()); from <= to && to <= len(text) {
			text = text[from:to]
		}
	}
	return shortened(text)
}

func (r *reader) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		r.stmt(s)
	}
}

func (r *reader) stmt(s *syntax.Stmt) {
	if s == nil {
		return
	}
	if s.Coprocess {
		r.doubt("it starts a coprocess", s)
	}
	if s.Background {
		r.script.Complex = true
		r.script.raise(Covered, "it stays in the background", r.source(s))
	}
	for _, red := range s.Redirs {
		text := r.redirect(red)
		if text != "" && startsShell(s) {
			r.fed(text)
		}
	}
	if startsShell(s) {
		r.substituted(s)
	}
	r.command(s.Cmd)
}

// redirect walks the commands in the words. A redirection that touches no file is no doubt. It returns the text that a here-document
// or a here-string feeds.
func (r *reader) redirect(red *syntax.Redirect) (text string) {
	target := r.word(red.Word)
	r.word(red.Hdoc)
	switch red.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return static(red.Hdoc, true)
	case syntax.WordHdoc:
		return target.text
	case syntax.DplIn, syntax.DplOut:
		if strings.Trim(target.text, "0123456789-") == "" {
			return ""
		}
	}
	if red.N != nil && strings.HasPrefix(red.N.Value, "{") || target.text != "/dev/null" {
		r.doubt("it reads or writes a file by redirection", red)
	}
	if p, why := r.place(target); p == paths.Private {
		r.script.raise(Forbidden, why, r.source(red))
	}
	switch {
	case red.Op == syntax.RdrIn:
		if r.at().Keeps(target.path()) {
			r.unseen("its name says that it has secrets", r.source(red))
		}
	case r.at().OwnFiles(target.path()):
		r.unseen("it changes the repository's own files", r.source(red))
	}
	if paths.RawDevice(target.text) && red.Op != syntax.RdrIn {
		r.script.raise(Forbidden, "it writes to a device", r.source(red))
	}
	return ""
}

// command walks one command. Any kind that it does not handle is a doubt.
func (r *reader) command(cmd syntax.Command) {
	switch cmd.(type) {
	case nil, *syntax.CallExpr, *syntax.BinaryCmd, *syntax.Subshell, *syntax.Block:
	default:
		r.script.Complex = true
		r.script.raise(Covered, "it is more than a list of commands", r.source(cmd))
	}
	switch c := cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		r.call(c)
	case *syntax.BinaryCmd:
		r.stmt(c.X)
		r.stmt(c.Y)
		if (c.Op == syntax.Pipe || c.Op == syntax.PipeAll) && startsShell(c.Y) {
			r.printed(c.X)
		}
	case *syntax.Subshell:
		r.stmts(c.Stmts)
	case *syntax.Block:
		r.stmts(c.Stmts)
	case *syntax.TimeClause:
		r.stmt(c.Stmt)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			r.stmts(c.Cond)
			r.stmts(c.Then)
		}
	case *syntax.WhileClause:
		r.stmts(c.Cond)
		r.stmts(c.Do)
	case *syntax.ForClause:
		if words, ok := c.Loop.(*syntax.WordIter); ok && !c.Select {
			r.words(words.Items)
		} else {
			r.within(c.Loop, "it calculates")
		}
		r.stmts(c.Do)
	case *syntax.CaseClause:
		r.word(c.Word)
		for _, item := range c.Items {
			r.words(item.Patterns)
			r.stmts(item.Stmts)
		}
	case *syntax.FuncDecl:
		r.doubt("it defines a function", c)
		r.bomb(c)
		r.stmt(c.Body)
	case *syntax.DeclClause:
		r.within(c, "it sets variables")
	default:
		r.within(c, "it calculates or compares, which can run commands")
	}
}

// bomb forbids a function that starts itself in the background.
func (r *reader) bomb(f *syntax.FuncDecl) {
	calls, background := false, false
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			background = background || n.Background
		case *syntax.CallExpr:
			calls = calls || len(n.Args) > 0 && f.Name != nil && n.Args[0].Lit() == f.Name.Value
		}
		return true
	})
	if calls && background {
		r.script.raise(Forbidden, "it starts itself again and again", r.source(f))
	}
}

// within records a doubt about a node, and collects the commands in it. A text in it may become a command.
func (r *reader) within(n syntax.Node, why string) {
	r.doubt(why, n)
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			r.stmt(n)
			return false
		case *syntax.SglQuoted:
			r.fed(n.Value)
		case *syntax.Lit:
			r.fed(n.Value)
		}
		return true
	})
}

// call walks a simple command, or assignments without one.
func (r *reader) call(c *syntax.CallExpr) {
	assigned := make([]string, 0, len(c.Assigns))
	for _, a := range c.Assigns {
		if a.Value == nil || a.Append || a.Index != nil || a.Array != nil || a.Name == nil {
			r.within(a, "it sets variables")
			continue
		}
		assigned = append(assigned, a.Name.Value+"="+r.word(a.Value).text)
	}
	for _, a := range assigned {
		if _, text, _ := strings.Cut(a, "="); strings.Contains(text, " ") {
			r.fed(text)
		}
	}
	words := r.words(c.Args)
	if len(words) == 0 {
		r.doubt("it sets variables", c)
		return
	}
	r.known(words[0])
	r.simple(assigned, words, 0)
}

// simple adds a command and the commands that it runs or may run. chain counts the
// commands that led to it.
func (r *reader) simple(assigned []string, words []word, chain int) {
	inner, kind := carried(words)
	if chain > maxChain {
		r.doubt("too many of its commands only run another one", nil)
		inner, kind = nil, opaque
	}
	texts := joined(words)
	text := texts[0]
	found, fixed, class, local := r.inspect(words, texts, kind, len(inner) > 0)
	if len(assigned) > 0 {
		text, class = strings.Join(assigned, " ")+" "+text, ""
		if fixed > 0 {
			fixed += len(text) - len(texts[0])
		}
		fixed = r.assigned(assigned, fixed, &found)
		found.raise(Covered, "it sets variables for the command", shortened(text))
	}
	r.script.raise(found.Level, found.Reason, found.Part)
	r.script.Commands = append(r.script.Commands, Command{
		Text:  text,
		Plain: texts[0][len(words[0].text)-len(words[0].base()):],
		// Its own variables may change what the command does.
		Transparent: kind == transparent && len(inner) > 0 && len(assigned) == 0,
		Opaque:      kind == opaque,
		Quoted:      slices.ContainsFunc(words, func(w word) bool { return w.blank || w.text == "" }),
		Finding:     found, Fixed: fixed, Class: class, Local: local,
	})
	switch {
	case kind == opaque:
		r.suspect(words[1:], texts[1:])
	case len(inner) > 0:
		r.known(inner[0])
		r.simple(nil, inner, chain+1)
	}
}

// assigned judges the variables that are set for a command. A pattern must name all but the harmless ones. It returns how many bytes
// of the text a pattern must have without a wildcard.
func (r *reader) assigned(list []string, fixed int, found *Finding) int {
	end := 0
	for _, a := range list {
		end += len(a) + 1
		name, _, _ := strings.Cut(a, "=")
		if slices.Contains(harmlessVariables, name) {
			continue
		}
		r.script.note(Covered, "the variable "+name+" may change what programs do", shortened(a))
		switch {
		case strings.ContainsRune(a, Unknown):
			found.raise(Dangerous, "the variable "+name+" may change what programs do", shortened(a))
		default:
			found.raise(Covered, "the variable "+name+" may change what programs do", shortened(a))
			fixed = max(fixed, end)
		}
	}
	return fixed
}

// harmlessVariables may be set for a command: they change what it prints, or the pace.
var harmlessVariables = []string{
	"NO_COLOR", "FORCE_COLOR", "CLICOLOR", "LANG", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "TZ", "CI", "COLUMNS", "LINES", "TERM", "VERBOSE", "DEBUG", "RUST_BACKTRACE", "RUST_LOG",
	"GOOS", "GOARCH", "CGO_ENABLED", "GOMAXPROCS", "NODE_ENV", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "CARGO_TERM_COLOR", "GIT_OPTIONAL_LOCKS",
}

// known records a doubt if the program's name is not a plain word.
func (r *reader) known(program word) {
	if !program.plain() {
		r.doubt("which program it runs is known only when it runs", nil)
	}
}

// suspect adds suspects from the arguments of an opaque command: a command from each
// argument on, and each text read as a command line.
func (r *reader) suspect(args []word, texts []string) {
	for i, a := range args {
		if i == maxArgs {
			r.doubt("it runs its arguments, and they are too many to be read", nil)
			r.script.Suspects = append(r.script.Suspects, pieces(texts[i])...)
			r.verbs(args[i:])
			return
		}
		dir := len(a.text) - len(a.base())
		r.forbidden(args[i:], texts[i])
		r.script.Suspects = append(r.script.Suspects, Command{Text: texts[i], Plain: texts[i][dir:]})
		if strings.ContainsAny(a.text, " \t\n;|&$`(<>") {
			s := r.read(a.text, r.depth+1)
			if a.unknown() {
				r.fed(a.text)
			} else {
				r.unseenOf(s)
			}
			if s.Level == Forbidden {
				r.script.raise(Forbidden, s.Reason, s.Part)
			}
			r.script.Suspects = append(append(r.script.Suspects, s.Commands...), s.Suspects...)
		}
	}
}

// joined returns, for each word, the text from that word on. The texts share memory.
func joined(words []word) []string {
	var sb strings.Builder
	texts := make([]string, len(words))
	for i, w := range words {
		if i > 0 {
			sb.WriteByte(' ')
		}
		texts[i] = w.text
		if w.text == "" {
			texts[i] = "''"
		}
		sb.WriteString(texts[i])
	}
	all, at := sb.String(), 0
	for i, own := range texts {
		texts[i] = all[at:]
		at += len(own) + 1
	}
	return texts
}

// pieces cuts an unreadable line at everything that may separate commands, quoted or not.
func pieces(line string) []Command {
	var out []Command
	quotes := strings.NewReplacer(`"`, "", `'`, "", `\`, "")
	for piece := range strings.FieldsFuncSeq(line, func(c rune) bool { return strings.ContainsRune("\n\r;|&(){}<>`$", c) }) {
		words := strings.Fields(quotes.Replace(piece))
		for len(words) > 0 && (keyword(words[0]) || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		text := strings.Join(words, " ")
		out = append(out, Command{Text: text, Plain: text[len(words[0])-len(word{text: words[0]}.base()):]})
	}
	return out
}

func keyword(w string) bool {
	switch w {
	case "if", "then", "elif", "else", "while", "until", "do", "time", "!", "coproc":
		return true
	}
	return false
}
