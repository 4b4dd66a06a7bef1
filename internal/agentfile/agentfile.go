// Package agentfile reads agents from files: Markdown with YAML frontmatter. The
// frontmatter configures the agent, and the text below has its instructions.
//
//	---
//	name: reviewer
//	description: Reads a change and says what is wrong with it.
//	model: script:review.yaml
//	tools: [read, glob, grep]
//	limits: {steps: 8, time: 2m}
//	skills: {names: [review]}
//	---
//	You review changes. Quote file and line.
//
// A file is read strictly: unknown keys, repeated keys and values of the wrong kind are
// problems with a place, a reason and a fix. All problems of a directory are reported at
// once. An empty value keeps the default. `tools: []` means no tool, a missing `tools`
// all of them. Byte order mark and CRLF are accepted.
//
// Files of Claude Code (.claude/agents) have their own dialect, see [Claude]: they were
// not written for this program, so problems there are warnings, never errors. But a file
// whose unknown key restricts the agent is left out, because without it the agent could
// do more than its author allowed.
package agentfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/conffile"
	"github.com/grapnel-go/grapnel/internal/yamldoc"
)

// Dialect is the set of rules for a file.
type Dialect int

// The dialects.
const (
	// Grapnel is this program's own: strict.
	Grapnel Dialect = iota
	// Claude is that of Claude Code's subagent files: `tools` is a list or one
	// line separated by commas with that program's tool names, and keys that
	// only it has are warnings.
	Claude
)

// Dir is a directory of agent files.
type Dir struct {
	Path    string
	Dialect Dialect
	// Within is the project of the directory: links out of it are not followed. "" is
	// none.
	Within string
}

// Agent is one agent and the file that defines it.
type Agent struct {
	Config hook.AgentConfig
	// File is the directory's path with the file's name.
	File string
	// at has the values of the frontmatter by their keys.
	at map[string]*yaml.Node
}

// Problem returns a problem with the value of a key that was found later, when the agent was
// used. Its place is the line of the value, or else the whole file.
func (a Agent) Problem(key, what, fix string) Problem {
	p := Problem{File: a.File, What: what, Fix: fix}
	if n := a.at[key]; n != nil {
		p.Line, p.Column = n.Line, n.Column
	}
	return p
}

// MaxSize limits a file, in bytes.
const MaxSize = 1 << 20

// Load reads the files *.md of the directories, each directory in the order of its file
// names. It ignores missing directories and hidden files. Of two agents of one name in two
// directories the first counts, with a warning; in one directory that is an error (in
// Claude's dialect a warning). The error is a [Problems] with all problems, or one of
// reading a directory. Load also returns the agents without problems then.
func Load(dirs ...Dir) (agents []Agent, warnings Problems, err error) {
	l := loader{from: map[string]Dir{}, taken: map[string]int{}}
	for _, dir := range dirs {
		if err := l.dir(dir); err != nil {
			return l.agents, l.warnings, err
		}
	}
	return l.agents, l.warnings, l.wrong.Err()
}

type loader struct {
	agents          []Agent
	warnings, wrong Problems
	// from has the directory of each name, taken its index in agents.
	from  map[string]Dir
	taken map[string]int
}

func (l *loader) dir(dir Dir) error {
	root, err := conffile.OpenDir(dir.Path, dir.Within)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil && dir.Dialect == Claude {
		l.warnings = append(l.warnings, Problem{File: dir.Path, What: "its agents are left out: " + conffile.Reason(err)})
		return nil
	}
	if err != nil {
		l.wrong = append(l.wrong, Problem{File: dir.Path, What: conffile.Reason(err)})
		return nil
	}
	defer root.Close()
	names, err := list(root)
	if err != nil {
		return err
	}
	for _, name := range names {
		l.file(dir, root, name)
	}
	return nil
}

func (l *loader) file(dir Dir, root *os.Root, name string) {
	file, r := filepath.Join(dir.Path, name), dir.read(root, name)
	l.warnings, l.wrong = append(l.warnings, r.warnings...), append(l.wrong, r.wrong...)
	agent := r.cfg.Name
	if agent == "" || r.wrong != nil {
		return
	}
	first, again := l.taken[agent]
	switch {
	case !again:
		l.taken[agent], l.from[agent] = len(l.agents), dir
		l.agents = append(l.agents, Agent{Config: r.cfg, File: file, at: r.at})
	case l.from[agent] == dir && dir.Dialect == Grapnel:
		l.wrong = append(l.wrong, duplicate(file, l.agents[first].File, agent))
	default:
		p := duplicate(file, l.agents[first].File, agent)
		p.What += "; the first one counts"
		l.warnings = append(l.warnings, p)
	}
}

func duplicate(file, first, name string) Problem {
	return Problem{
		File: file, Line: 1, Column: 1,
		What: fmt.Sprintf("agent %q is already defined in %s", name, first),
		Fix:  "rename one of them with `name:`, or delete one file",
	}
}

// list returns the agent files of a directory in the order of their names.
func list(root *os.Root) ([]string, error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("read the agents: %w", err)
	}
	var files []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || e.IsDir() || filepath.Ext(e.Name()) != ".md" {
			continue
		}
		files = append(files, e.Name())
	}
	return files, nil
}

// read reads the file of that name in the directory, which is open as root.
func (d Dir) read(root *os.Root, name string) *reader {
	file := filepath.Join(d.Path, name)
	data, err := conffile.ReadIn(root, name, &conffile.Options{Max: MaxSize, Within: d.Within})
	if err != nil {
		r := &reader{wrong: Problems{{File: file, What: conffile.Reason(err)}}}
		r.judge(d.Dialect)
		return r
	}
	return parse(file, data, d.Dialect)
}

// Parse reads one file. file is its path, for messages and for the default of the agent's
// name. The error, if any, is a [Problems]. In Claude's dialect there is no error: an
// unusable file gives the zero configuration and a warning.
func Parse(file string, data []byte, d Dialect) (hook.AgentConfig, Problems, error) {
	r := parse(file, data, d)
	return r.cfg, r.warnings, r.wrong.Err()
}

// parse reads one file. The configuration is zero if it cannot be used.
func parse(file string, data []byte, d Dialect) *reader {
	r := &reader{file: file, dialect: d}
	r.fields = yamldoc.Reader{Wrong: r.errorAt, Foreign: foreignKey}
	r.cfg.Name = strings.TrimSuffix(filepath.Base(file), ".md")
	r.document(data)
	r.judge(d)
	return r
}

// judge decides about a file with problems: in Claude's dialect they become warnings.
func (r *reader) judge(d Dialect) {
	if d == Claude && (len(r.wrong) > 0 || r.skip) {
		for i := range r.wrong {
			r.wrong[i].What += "; the agent is left out"
		}
		r.cfg, r.warnings, r.wrong = hook.AgentConfig{}, append(r.warnings, r.wrong...), nil
	}
	if len(r.wrong) > 0 {
		r.cfg = hook.AgentConfig{}
	}
}

// reader collects the values and problems of one file.
type reader struct {
	file     string
	dialect  Dialect
	fields   yamldoc.Reader
	cfg      hook.AgentConfig
	at       map[string]*yaml.Node // the values of the keys
	warnings Problems
	wrong    Problems
	// skip leaves the agent out.
	skip bool
}

func (r *reader) errorAt(n *yaml.Node, what, fix string) {
	r.wrong = append(r.wrong, r.problem(n, what, fix))
}

func (r *reader) warnAt(n *yaml.Node, what, fix string) {
	r.warnings = append(r.warnings, r.problem(n, what, fix))
}

func (r *reader) problem(n *yaml.Node, what, fix string) Problem {
	return Problem{File: r.file, Line: n.Line, Column: n.Column, What: what, Fix: fix}
}

func (r *reader) errorLine(line int, what, fix string) {
	r.wrong = append(r.wrong, Problem{File: r.file, Line: line, Column: 1, What: what, Fix: fix})
}

func (r *reader) document(data []byte) {
	front, body, err := yamldoc.Split(string(data))
	switch {
	case errors.Is(err, yamldoc.ErrOpen):
		r.errorLine(1, err.Error(), "write a second line `---` below the keys")
		return
	case err != nil:
		r.errorLine(1, err.Error(), "begin the file with a line `---`, the keys, and a second line `---`")
		return
	}
	r.cfg.Instructions = strings.TrimSpace(body)
	top, quoted, err := yamldoc.Front(front, r.frontKeys())
	if e, bad := errors.AsType[*yamldoc.Error](err); bad {
		r.wrong = append(r.wrong, Problem{File: r.file, Line: e.Line, Column: e.Column, What: "the frontmatter " + e.What, Fix: e.Fix})
		return
	}
	if top == nil {
		return
	}
	if top.Kind != yaml.MappingNode {
		r.errorAt(top, "the frontmatter is no mapping", "write `key: value` lines")
		return
	}
	if quoted && r.dialect == Grapnel { // other dialects have their own rules
		r.warnAt(top, "the frontmatter is YAML only with quotes around values that have a colon", "write the quotes, so that other programs read it, too")
	}
	r.at = map[string]*yaml.Node{}
	r.mapping(top)
	r.agree()
	if !message.ValidToolName(r.cfg.Name) {
		r.errorAt(top, fmt.Sprintf("%q is no name for an agent", r.cfg.Name),
			"set `name:` to 1 to 64 letters, digits, _ or -")
	}
}
