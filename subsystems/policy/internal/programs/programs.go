// Package programs is the table of programs that package shell judges by: programs.txt, with one entry for each program or
// subcommand. Which flags and operands are harmless stands there, why others are not, and which lose what a repository has.
package programs

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed programs.txt
var programsText string

// Level is what may let a command run without a question, from the mildest to the strictest.
type Level int

// The levels.
const (
	// Safe: it reads what the project has, prints it and ends.
	Safe Level = iota
	// Covered: a rule with wildcards may cover it.
	Covered
	// Dangerous: no rule with wildcards covers it, only one for exactly this text.
	Dangerous
	// Forbidden: no rule covers it. The table has no program of this level.
	Forbidden
)

// Program is what the table says of a program or of one of its subcommands. Nobody changes it.
type Program struct {
	// Name has the subcommand, too: "git log".
	Name  string
	Level Level
	// Named: the fixed part of a pattern must reach to the end of the subcommand, and of so many Operands behind it.
	Named    bool
	Operands int
	// Kinds are those of the operands; the last one is that of all the others. Without kinds there are no operands.
	Kinds []string
	// Min and Max are how many operands are known to be harmless; a Max of -1 is any number.
	Min, Max int
	// Long: flags are words. Rest: what follows the operands is for what the command runs. Class: one answer of a person may
	// cover other operands.
	Long, Rest, Class bool
	// Does says what the program does; "" is nothing remarkable.
	Does  string
	Flags map[string]Flag
	// Harmless: no flag does more than change what it prints, so that an unknown word cannot do harm as a flag.
	Harmless bool
	// Unseen: with more than Seen operands it loses or rewrites what a repository has, which a sandbox that lets it write there
	// cannot see.
	Unseen bool
	Seen   int
}

// Remote reports whether the program reaches another machine, or can.
func (p *Program) Remote() bool {
	for _, k := range p.Kinds {
		if oneOf(k, "remote refspec host package resource") {
			return true
		}
	}
	return p.Level >= Dangerous || strings.Contains(p.Does, "another machine")
}

// Flag is what the table says of a flag.
type Flag struct {
	Level Level
	// Why says what it does; "" is that it changes what the program does.
	Why string
	// Valued: it takes a value, which may be the next word. Optional: it may have one that is attached to it.
	Valued, Optional bool
	// Kind is that of the value, as of an operand; "" is any text.
	Kind string
	// Rewrites: the operands are then written. Rest: what follows is not for the program.
	Rewrites, Rest bool
	// Unseen: a sandbox cannot see what it loses. Seen: with it the command loses nothing, whatever its program's Unseen says.
	Unseen, Seen bool
}

// kindNames are the kinds of operands and values; package shell has what they mean.
const kindNames = "text lists reads writes archive number remote refspec package host target resource method dir local first globs code sed awk jq"

// table has the programs by name; a subcommand is behind its program's name and a blank.
var table = sync.OnceValue(func() map[string]*Program {
	t, err := parseTable(programsText)
	if err != nil {
		panic("programs: programs.txt: " + err.Error()) // a test parses the same text
	}
	return t
})

// Table returns all programs by name; a subcommand is behind its program's name and a blank. Nobody changes it.
func Table() map[string]*Program { return table() }

// parser reads the table. Its text is described in its first lines.
type parser struct {
	programs map[string]*Program
	shared   map[string]map[string]Flag
	// into are the flags that the lines now are about.
	into []map[string]Flag
}

func parseTable(text string) (map[string]*Program, error) {
	p := parser{programs: map[string]*Program{}, shared: map[string]map[string]Flag{}}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSuffix(line, "\n")
		var err error
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '\t':
			err = p.flagLine(line[1:])
		case line[0] == '@':
			flags := map[string]Flag{}
			p.shared[line], p.into = flags, []map[string]Flag{flags}
		default:
			err = p.header(line)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	for _, one := range p.programs {
		one.Harmless = one.Level == Safe && len(one.Kinds) > 0 && oneOf(one.Kinds[0], "text lists reads")
		for _, f := range one.Flags {
			one.Harmless = one.Harmless && f.Level == Safe
		}
	}
	return p.programs, nil
}

// header reads the line about one or more programs. The ":" alone is a program too.
func (p *parser) header(line string) error {
	names, spec, ok := strings.Cut(line, ": ")
	if !ok {
		return fmt.Errorf("%q has no level", line)
	}
	spec, does, _ := strings.Cut(spec, "|")
	p.into = nil
	for name := range strings.SplitSeq(names, ", ") {
		if p.programs[name] != nil {
			return fmt.Errorf("%s is there twice", name)
		}
		one := &Program{Name: name, Max: -1, Does: strings.TrimSpace(does), Flags: map[string]Flag{}}
		for i, word := range strings.Fields(spec) {
			if err := one.attribute(i, word); err != nil {
				return err
			}
		}
		p.programs[name] = one
		p.into = append(p.into, one.Flags)
	}
	return nil
}

// attribute reads one word of a header; the first is the level.
func (p *Program) attribute(i int, word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	switch {
	case i == 0:
		level, more, plus := strings.Cut(word, "+")
		p.Named = level == "named"
		if level == "seen" || level == "unseen" {
			return fmt.Errorf("%s is the level of flags alone", level)
		}
		if p.Level, err = levelOf(level); err == nil && plus {
			p.Operands, err = strconv.Atoi(more)
		}
	case key == "min":
		p.Min, err = strconv.Atoi(value)
	case key == "max":
		p.Max, err = strconv.Atoi(value)
	case key == "unseen":
		p.Unseen = true
		if value != "" {
			p.Seen, err = strconv.Atoi(value)
		}
	case word == "long":
		p.Long = true
	case word == "rest":
		p.Rest = true
	case word == "class":
		p.Class = true
	case word == "none":
	case !oneOf(word, kindNames):
		return fmt.Errorf("there is no kind of operands %s", word)
	default:
		p.Kinds = append(p.Kinds, word)
	}
	return err
}

func levelOf(word string) (Level, error) {
	switch word {
	case "safe", "seen":
		return Safe, nil
	case "rule", "named":
		return Covered, nil
	case "never", "unseen":
		return Dangerous, nil
	}
	return 0, fmt.Errorf("there is no level %s", word)
}

// flagLine reads flags with their level.
func (p *parser) flagLine(line string) error {
	first := Flag{}
	if before, after, ok := strings.Cut(line, ": "); ok {
		line = after
		word, why, _ := strings.Cut(before, " ")
		level, err := levelOf(word)
		if err != nil {
			return err
		}
		first.Level, first.Why, first.Unseen, first.Seen = level, why, word == "unseen", word == "seen"
	}
	for word := range strings.FieldsSeq(line) {
		if word[0] == '@' {
			for name, f := range p.shared[word] {
				p.add(name, f)
			}
			continue
		}
		name, f := first.read(word)
		if f.Kind != "" && !oneOf(f.Kind, kindNames) {
			return fmt.Errorf("there is no kind of values %s", f.Kind)
		}
		p.add(name, f)
	}
	return nil
}

// add adds a flag. Of two lines about the same one, the stricter counts.
func (p *parser) add(name string, f Flag) {
	for _, flags := range p.into {
		if known, ok := flags[name]; !ok || f.Level > known.Level {
			flags[name] = f
		}
	}
}

// read reads one flag.
func (f Flag) read(word string) (string, Flag) {
	if name, ok := strings.CutSuffix(word, "..."); ok {
		f.Rest = true
		return name, f
	}
	name, kind, valued := strings.Cut(word, "=")
	if valued {
		f.Valued, f.Kind = true, kind
		switch kind {
		case "<":
			f.Kind = "reads"
		case ">":
			f.Kind = "writes"
		}
		return name, f
	}
	name, f.Optional = strings.CutSuffix(name, "?")
	name, f.Rewrites = strings.CutSuffix(name, "!")
	return name, f
}

func oneOf(name, names string) bool { return slices.Contains(strings.Fields(names), name) }
