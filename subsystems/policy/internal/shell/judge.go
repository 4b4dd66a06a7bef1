package shell

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/subsystems/policy/internal/programs"
)

// Level is what may let a command run without a question, from the mildest to the strictest.
type Level = programs.Level

// The levels.
const (
	Safe      = programs.Safe
	Covered   = programs.Covered
	Dangerous = programs.Dangerous
	Forbidden = programs.Forbidden
)

// Finding is the level of a command or a line, and why.
type Finding struct {
	Level Level
	// Reason is half a sentence about the part, such as "-delete deletes files".
	Reason string
	// Part is the part of the line that Reason is about.
	Part string
}

// Verdict is "safe", "ask" or "deny".
func (f Finding) Verdict() string {
	switch f.Level {
	case Safe:
		return "safe"
	case Forbidden:
		return "deny"
	}
	return "ask"
}

// raise makes the finding stricter. Of several with the same level the first one stays.
func (f *Finding) raise(to Level, reason, part string) {
	if to > f.Level {
		*f = Finding{to, reason, part}
	}
}

// maxNotes limits the notes about a line.
const maxNotes = 50

// note keeps a finding among the notes, once.
func (s *Script) note(level Level, reason, part string) {
	if f := (Finding{level, reason, part}); level > Safe && reason != "" && len(s.Notes) < maxNotes && !slices.Contains(s.Notes, f) {
		s.Notes = append(s.Notes, f)
	}
}

// raise notes a finding, and makes that of the line stricter.
func (s *Script) raise(to Level, reason, part string) {
	s.note(to, reason, part)
	s.Finding.raise(to, reason, part)
}

// raise notes a finding, and makes that of the command stricter.
func (s *inspection) raise(to Level, reason, part string) {
	if s.quiet {
		return
	}
	s.r.script.note(to, reason, part)
	s.Finding.raise(to, reason, part)
}

// Raise makes the finding as strict as another one.
func (f *Finding) Raise(o Finding) { f.raise(o.Level, o.Reason, o.Part) }

// maxPart bounds the part of a line that people are shown, in bytes.
const maxPart = 200

func shortened(text string) string {
	if len(text) <= maxPart {
		return text
	}
	cut := maxPart
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// inspection judges one simple command.
type inspection struct {
	r     *reader
	words []word
	// whole is the command's text; a finding without a part of its own has it as its part.
	whole string
	Finding
	p *programs.Program
	// sub counts the words of the program and its subcommand.
	sub int
	// operands has the places of the operands in words; writes says that they are written.
	operands []int
	writes   bool
	// class is that of the command. flagWrites: a flag names a file that is written.
	class      string
	flagWrites bool
	// explicit: a flag has the text that is otherwise the first operand.
	explicit bool
	// fixed counts the bytes of the text that a pattern must have without a wildcard, and at those before the word that is judged.
	fixed, at int
	// ends has the place behind each word in the text.
	ends []int
	// quiet: only what a sandbox cannot see is kept. seen: a flag says that the command loses nothing.
	quiet, seen bool
}

// inspect judges a simple command by the table of programs. inner says that it runs another one, which is judged by itself.
func (r *reader) inspect(words []word, texts []string, kind kind, inner bool) (f Finding, fixed int, class string, local bool) {
	s := inspection{r: r, words: words, whole: texts[0], sub: 1}
	s.ends = make([]int, len(words))
	for i := range words {
		s.ends[i] = len(texts[0])
		if i+1 < len(words) {
			s.ends[i] -= len(texts[i+1]) + 1
		}
	}
	s.destroys()
	s.private()
	switch name := words[0].base(); {
	case !words[0].plain():
		s.dangerous("which program it runs is known only when it runs", words[0].text)
	case kind == opaque:
		s.dangerous("it is not known what "+name+" runs", s.whole)
	case kind == transparent:
		if !inner {
			s.raise(Covered, name+" runs what it gets", s.whole)
		}
	default:
		s.program(name)
	}
	if kind != simple || !words[0].plain() || strings.HasPrefix(words[0].base(), "git-") {
		r.loses(words, s.whole)
	}
	return s.Finding, s.fixed, s.class, s.p != nil && !s.p.Remote() || kind == transparent
}

func (s *inspection) dangerous(why, part string) { s.raise(Dangerous, why, shortened(part)) }

// program judges a command by the entry of its program, or without one by its words.
func (s *inspection) program(name string) {
	s.p = programs.Table()[canonical(name)]
	if s.p == nil {
		s.raise(Covered, "it is not known what "+name+" does", s.whole)
		s.unknownProgram()
		s.carries()
		return
	}
	if len(s.words) == 2 && (s.words[1].text == "--version" || s.words[1].text == "--help") {
		s.raise(Covered, "it is not known that "+name+" only prints something about itself", s.whole)
		return
	}
	if s.words[0].text != s.p.Name {
		s.raise(Covered, "a path or another spelling names the program", s.words[0].text)
	}
	if s.r.moved && s.p.Name == "git" {
		s.dangerous("another directory may have a repository of its own, whose configuration can run programs", s.whole)
	}
	s.scan()
	s.repository()
	s.class = s.classed()
	if s.p.Level > Safe {
		s.raise(s.p.Level, s.about(), s.whole)
	}
	s.judgeOperands()
	if s.p.Named {
		s.fix(s.ends[s.sub-1])
		for _, i := range s.operands[:min(s.p.Operands, len(s.operands))] {
			s.fix(s.ends[i])
		}
	}
}

// classed returns the class of the command: the name of its program, in the spelling of the table.
func (s *inspection) classed() string {
	if !s.p.Class || s.flagWrites || joined(s.words[:s.sub])[0] != s.p.Name {
		return ""
	}
	return s.p.Name
}

// about says what the program does.
func (s *inspection) about() string {
	does := s.p.Does
	if does == "" {
		does = "does more than read and print"
		if s.p.Level == Dangerous {
			does = "can run other programs"
		}
	}
	return s.p.Name + " " + does
}

// fix says that a pattern must have so many bytes of the text without a wildcard.
func (s *inspection) fix(n int) { s.fixed = max(s.fixed, n) }

// scan reads subcommands, flags and their values, and collects the operands.
func (s *inspection) scan() {
	ended := false
	for i := 1; i < len(s.words); i++ {
		w := s.words[i]
		switch {
		case ended:
			s.operands = append(s.operands, i)
		case len(s.operands) == 0 && s.subcommand(i):
			i = s.sub - 1
		case w.loose || strings.HasPrefix(w.text, string(Unknown)) && !w.home:
			if !s.p.Harmless {
				s.dangerous("which flags and files "+s.p.Name+" gets is known only when it runs", w.text)
			}
			s.operands = append(s.operands, i)
		case w.text == "--":
			ended = true
			if f, ok := s.p.Flags["--"]; ok {
				s.use("--", f)
			}
		case len(w.text) < 2 || w.text[0] != '-' && (w.text[0] != '+' || s.p.Flags[w.text] == programs.Flag{}):
			s.operands = append(s.operands, i)
			ended = s.p.Rest
		default:
			i = s.flag(i)
			if i < 0 {
				return
			}
		}
	}
}

// subcommand moves on to the entry of the subcommand at a word, of one word or of two.
func (s *inspection) subcommand(i int) bool {
	if s.sub > 1 || strings.ContainsRune(s.p.Name, ' ') {
		return false
	}
	name := s.p.Name + " " + s.words[i].text
	if i+1 < len(s.words) {
		if p := programs.Table()[name+" "+s.words[i+1].text]; p != nil {
			s.p, s.sub = p, i+2
			return true
		}
	}
	if p := programs.Table()[name]; p != nil {
		s.p, s.sub = p, i+1
		return true
	}
	return false
}

// flag judges the flag at a word. It returns the last word that belongs to it, or -1 if what follows is not for the program.
func (s *inspection) flag(i int) int {
	text := s.words[i].text
	name, value, attached := strings.Cut(text, "=")
	if s.p.Long && strings.HasPrefix(name, "--") {
		name = name[1:]
	}
	f, ok := s.p.Flags[name]
	short := !s.p.Long && len(text) > 1 && text[1] != '-'
	switch {
	case ok && f.Rest:
		return -1
	case ok && attached && !f.Valued && !f.Optional:
		s.dangerous("a value for "+name+" is not known to be harmless", s.words[i].text)
	case ok && attached:
		s.use(name, f)
		s.value(name, f, s.words[i], value, len(name)+1)
	case ok && f.Valued:
		s.use(name, f)
		return s.next(name, f, i)
	case ok:
		s.use(name, f)
	case short && s.number(text[1:]):
	case short:
		return s.cluster(i)
	default:
		s.unknownFlag(name)
	}
	return i
}

// number reports whether the program takes a number as a flag.
func (s *inspection) number(digits string) bool {
	_, ok := s.p.Flags["-#"]
	return ok && strings.Trim(digits, "0123456789") == ""
}

// cluster judges short flags in one word.
func (s *inspection) cluster(i int) int {
	text := s.words[i].text
	for at := 1; at < len(text); at++ {
		name := "-" + text[at:at+1]
		f, ok := s.p.Flags[name]
		switch {
		case !ok:
			s.unknownFlag(name)
			for _, c := range text[at+1:] {
				if f := s.p.Flags["-"+string(c)]; f.Unseen {
					s.use("-"+string(c), f)
				}
			}
			return i
		case f.Valued && at+1 == len(text):
			s.use(name, f)
			return s.next(name, f, i)
		case f.Valued || f.Optional && at+1 < len(text):
			s.use(name, f)
			s.value(name, f, s.words[i], text[at+1:], at+1)
			return i
		}
		s.use(name, f)
	}
	return i
}

// use applies what is known of a flag.
func (s *inspection) use(name string, f programs.Flag) {
	s.writes, s.flagWrites = s.writes || f.Rewrites, s.flagWrites || f.Rewrites || f.Kind == "writes"
	if f.Kind == "reads" && len(s.p.Kinds) > 0 && s.p.Kinds[0] == "text" {
		s.explicit = true // grep -f
	}
	s.seen = s.seen || f.Seen
	if f.Level == Safe {
		return
	}
	why := f.Why
	if why == "" {
		why = "changes what " + s.p.Name + " does"
	}
	s.raise(f.Level, name+" "+why, shortened(s.whole))
	if f.Unseen {
		s.r.unseen(name+" "+why, s.whole)
	}
}

// unknownFlag judges a flag that the table does not have. It may be the beginning of one that loses something.
func (s *inspection) unknownFlag(name string) {
	runs := false
	for known, f := range s.p.Flags {
		if f.Unseen && len(name) > 2 && strings.HasPrefix(known, name) {
			s.r.unseen(name+" may be short for a flag that "+f.Why, s.whole)
		}
		runs = runs || f.Kind == "code"
	}
	if runs {
		for _, w := range s.words[1:] {
			s.code(w)
		}
	}
	if s.p.Name == "echo" {
		return // it prints what it does not know
	}
	if s.p.Level == Dangerous {
		return // the program itself is the reason
	}
	s.dangerous("the flag "+shown(name)+" of "+s.p.Name+" is not known to be harmless", s.whole)
}

// next judges the word behind a flag as its value.
func (s *inspection) next(name string, f programs.Flag, i int) int {
	if i+1 < len(s.words) {
		s.value(name, f, s.words[i+1], s.words[i+1].text, 0)
		return i + 1
	}
	return i
}

// value judges the value of a flag, which begins at a byte of a word.
func (s *inspection) value(name string, f programs.Flag, w word, text string, at int) {
	if w.loose {
		s.dangerous("the value of "+name+" is known only when it runs", w.text)
		return
	}
	if f.Rewrites && strings.ContainsAny(text, "/*") {
		s.dangerous("it writes a file beside the operands", w.text)
		return
	}
	v := w
	v.text, v.home = text, w.home && at == 0
	if f.Level == Dangerous && f.Kind != "writes" {
		s.secrets(v)
	}
	if f.Kind == "" {
		if s.address(v); f.Level == Dangerous && w.blank {
			s.code(v)
		}
		return
	}
	if f.Kind == "writes" {
		s.target(v)
	}
	s.at = s.start(w) + at
	kinds(f.Kind)(s, v)
}

// start returns the place of a word in the text.
func (s *inspection) start(w word) int {
	for i := range s.words {
		if s.words[i] == w {
			return s.ends[i] - len(w.text)
		}
	}
	return 0
}

func shown(text string) string { return strings.ReplaceAll(text, string(Unknown), "…") }

// judgeOperands judges the operands by their kinds.
func (s *inspection) judgeOperands() {
	p := s.p
	switch {
	case len(s.operands) < p.Min:
		s.dangerous("without an operand it is not known what "+p.Name+" does", s.whole)
	case p.Max >= 0 && len(s.operands) > p.Max:
		s.dangerous(s.about(), s.whole)
	case len(p.Kinds) == 0 && len(s.operands) > 0:
		what := p.Name + " " + s.words[s.operands[0]].text
		s.dangerous("it is not known what "+shown(shortened(what))+" does", s.whole)
	}
	for n, i := range s.operands {
		if len(p.Kinds) == 0 {
			return
		}
		if s.explicit {
			n++
		}
		kind := p.Kinds[min(n, len(p.Kinds)-1)]
		switch {
		case n > 0 && p.Rest:
			kind = "text"
		case s.writes && (kind == "reads" || kind == "lists"):
			kind = "writes"
		}
		if kind == "writes" || kind == "archive" {
			s.touched(s.words[i], i == s.operands[len(s.operands)-1])
		}
		s.at = s.ends[i] - len(s.words[i].text)
		kinds(kind)(s, s.words[i])
	}
}
