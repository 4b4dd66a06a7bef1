package shell

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed programs.txt
var programsText string

// program is what the table says of a program or of one of its subcommands.
type program struct {
	name  string
	level Level
	// named: the fixed part of a pattern must reach to the end of the subcommand, and of so many operands behind it.
	named    bool
	operands int
	// kinds are those of the operands; the last one is that of all the others. Without kinds there are no operands.
	kinds    []string
	min, max int
	long     bool
	rest     bool
	class    bool
	does     string
	flags    map[string]flag
	// harmless: no flag does more than change what it prints, so that an unknown word cannot do harm as a flag.
	harmless bool
}

// remote reports whether the program reaches another machine, or can.
func (p *program) remote() bool {
	for _, k := range p.kinds {
		if oneOf(k, "remote refspec host package resource") {
			return true
		}
	}
	return p.level >= Dangerous || strings.Contains(p.does, "another machine")
}

// flag is what the table says of a flag.
type flag struct {
	level Level
	why   string
	// valued: it takes a value, which may be the next word. optional: it may have one that is attached to it.
	valued, optional bool
	// kind is that of the value, as of an operand; "" is any text.
	kind string
	// rewrites: the operands are then written. rest: what follows is not for the program.
	rewrites, rest bool
}

// kindNames are the kinds of operands and values; kinds has what they mean.
const kindNames = "text lists reads writes archive number remote refspec package host target resource method dir local first sed awk jq"

// table returns the programs by name; a subcommand is behind its program's name and a blank.
var table = sync.OnceValue(func() map[string]*program {
	t, err := parseTable(programsText)
	if err != nil {
		panic("shell: programs.txt: " + err.Error()) // a test parses the same text
	}
	return t
})

// parser reads the table. Its text is described in its first lines.
type parser struct {
	programs map[string]*program
	shared   map[string]map[string]flag
	// into are the flags that the lines now are about.
	into []map[string]flag
}

func parseTable(text string) (map[string]*program, error) {
	p := parser{programs: map[string]*program{}, shared: map[string]map[string]flag{}}
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
			flags := map[string]flag{}
			p.shared[line], p.into = flags, []map[string]flag{flags}
		default:
			err = p.header(line)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	for _, one := range p.programs {
		one.harmless = one.level == Safe && len(one.kinds) > 0 && oneOf(one.kinds[0], "text lists reads")
		for _, f := range one.flags {
			one.harmless = one.harmless && f.level == Safe
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
		one := &program{name: name, max: -1, does: strings.TrimSpace(does), flags: map[string]flag{}}
		for i, word := range strings.Fields(spec) {
			if err := one.attribute(i, word); err != nil {
				return err
			}
		}
		p.programs[name] = one
		p.into = append(p.into, one.flags)
	}
	return nil
}

// attribute reads one word of a header; the first is the level.
func (p *program) attribute(i int, word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	switch {
	case i == 0:
		level, more, plus := strings.Cut(word, "+")
		p.named = level == "named"
		if p.level, err = levelOf(level); err == nil && plus {
			p.operands, err = strconv.Atoi(more)
		}
	case key == "min":
		p.min, err = strconv.Atoi(value)
	case key == "max":
		p.max, err = strconv.Atoi(value)
	case word == "long":
		p.long = true
	case word == "rest":
		p.rest = true
	case word == "class":
		p.class = true
	case word == "none":
	case !oneOf(word, kindNames):
		return fmt.Errorf("there is no kind of operands %s", word)
	default:
		p.kinds = append(p.kinds, word)
	}
	return err
}

func levelOf(word string) (Level, error) {
	switch word {
	case "safe":
		return Safe, nil
	case "rule", "named":
		return Covered, nil
	case "never":
		return Dangerous, nil
	}
	return 0, fmt.Errorf("there is no level %s", word)
}

// flagLine reads flags with their level.
func (p *parser) flagLine(line string) error {
	first := flag{}
	if before, after, ok := strings.Cut(line, ": "); ok {
		line = after
		word, why, _ := strings.Cut(before, " ")
		level, err := levelOf(word)
		if err != nil {
			return err
		}
		first.level, first.why = level, why
	}
	for word := range strings.FieldsSeq(line) {
		if word[0] == '@' {
			for name, f := range p.shared[word] {
				p.add(name, f)
			}
			continue
		}
		name, f := first.read(word)
		if f.kind != "" && !oneOf(f.kind, kindNames) {
			return fmt.Errorf("there is no kind of values %s", f.kind)
		}
		p.add(name, f)
	}
	return nil
}

// add adds a flag. Of two lines about the same one, the stricter counts.
func (p *parser) add(name string, f flag) {
	for _, flags := range p.into {
		if known, ok := flags[name]; !ok || f.level > known.level {
			flags[name] = f
		}
	}
}

// read reads one flag.
func (f flag) read(word string) (string, flag) {
	if name, ok := strings.CutSuffix(word, "..."); ok {
		f.rest = true
		return name, f
	}
	name, kind, valued := strings.Cut(word, "=")
	if valued {
		f.valued, f.kind = true, kind
		switch kind {
		case "<":
			f.kind = "reads"
		case ">":
			f.kind = "writes"
		}
		return name, f
	}
	name, f.optional = strings.CutSuffix(name, "?")
	name, f.rewrites = strings.CutSuffix(name, "!")
	return name, f
}
