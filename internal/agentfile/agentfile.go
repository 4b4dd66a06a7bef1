// Package agentfile reads agents from files: Markdown with YAML frontmatter,
// the frontmatter naming the agent and the text below it being its
// instructions.
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
// A file is read strictly: an unknown key, a key given twice and a value of the
// wrong kind are problems with a place, a reason and a way to mend them, and
// all problems of a directory are reported at once. An empty value leaves the
// default. `tools: []` means no tool, an absent `tools` all of them. Byte order
// mark and CRLF are tolerated.
//
// Files of Claude Code (.claude/agents) are read in a dialect of their own, see
// [Claude]: nobody wrote them for this program, so what it does not know is a
// warning there, never an error. But a file whose unknown key takes something
// away from the agent is left out, because reading past it would let the agent
// do more than its author allowed.
package agentfile

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/grapnel-go/grapnel/hook"
)

// Dialect says whose rules a file follows.
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
}

// Agent is one agent and the file that defines it.
type Agent struct {
	Config hook.AgentConfig
	// File is the path as it was read: the directory's path and the file's name.
	File string
	// at are the values of the frontmatter by their keys.
	at map[string]*yaml.Node
}

// Problem is one with the value of a key of the frontmatter, which was found only
// when the agent was used: in the line of that value, or else the file as a whole.
func (a Agent) Problem(key, what, fix string) Problem {
	p := Problem{File: a.File, What: what, Fix: fix}
	if n := a.at[key]; n != nil {
		p.Line, p.Column = n.Line+1, n.Column
	}
	return p
}

// MaxSize is the size in bytes beyond which a file is refused.
const MaxSize = 1 << 20

// Load reads the files *.md of the directories: directory by directory, each in
// the order of its file names. A directory that does not exist has none; hidden
// files are passed over. Of two agents of one name in two directories the first
// one counts and the other is a warning; in one directory that is an error (in
// Claude's dialect a warning). The error is a [Problems] with everything that
// is wrong anywhere, or that of reading a directory; the agents that are right
// are returned beside it.
func Load(dirs ...Dir) (agents []Agent, warnings Problems, err error) {
	var wrong Problems
	from := map[string]Dir{}
	taken := map[string]int{}
	for _, dir := range dirs {
		files, err := list(dir.Path)
		if err != nil {
			return agents, warnings, err
		}
		for _, file := range files {
			cfg, at, warn, bad := read(file, dir.Dialect)
			warnings, wrong = append(warnings, warn...), append(wrong, bad...)
			if cfg.Name == "" || bad != nil {
				continue
			}
			first, again := taken[cfg.Name]
			switch {
			case !again:
				taken[cfg.Name], from[cfg.Name] = len(agents), dir
				agents = append(agents, Agent{Config: cfg, File: file, at: at})
			case from[cfg.Name] == dir && dir.Dialect == Grapnel:
				wrong = append(wrong, duplicate(file, agents[first].File, cfg.Name))
			default:
				p := duplicate(file, agents[first].File, cfg.Name)
				p.What += "; the first one counts"
				warnings = append(warnings, p)
			}
		}
	}
	return agents, warnings, wrong.err()
}

func duplicate(file, first, name string) Problem {
	return Problem{
		File: file, Line: 1, Column: 1,
		What: fmt.Sprintf("agent %q is already defined in %s", name, first),
		Fix:  "rename one of them with `name:`, or delete one file",
	}
}

// list returns the agent files of a directory in the order of their names.
func list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the agents: %w", err)
	}
	var files []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || e.IsDir() || filepath.Ext(e.Name()) != ".md" {
			continue
		}
		files = append(files, filepath.Join(dir, e.Name()))
	}
	return files, nil
}

func read(file string, d Dialect) (cfg hook.AgentConfig, at map[string]*yaml.Node, warnings, wrong Problems) {
	data, err := readCapped(file)
	if err != nil {
		p := Problem{File: file, What: reason(err), Fix: "make it a readable text file of at most 1 MiB"}
		return hook.AgentConfig{}, nil, nil, Problems{p}
	}
	r := parse(file, data, d)
	return r.cfg, r.at, r.warnings, r.wrong
}

func readCapped(file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("is no regular file")
	case info.Size() > MaxSize:
		return nil, fmt.Errorf("has %d bytes", info.Size())
	}
	return os.ReadFile(file)
}

// reason drops the path from an error of the file system: the problem names it.
func reason(err error) string {
	if pe, ok := err.(*fs.PathError); ok {
		err = pe.Err
	}
	return "cannot be read: " + err.Error()
}

// Parse reads one file; file is its path, for messages and as the default of the
// agent's name. The error, if any, is a [Problems]. In Claude's dialect there is
// none: a file that cannot be used gives the zero configuration and a warning.
func Parse(file string, data []byte, d Dialect) (hook.AgentConfig, Problems, error) {
	r := parse(file, data, d)
	return r.cfg, r.warnings, r.wrong.err()
}

// parse reads one file. The configuration is zero if it cannot be used.
func parse(file string, data []byte, d Dialect) *reader {
	r := &reader{file: file, dialect: d}
	r.cfg.Name = strings.TrimSuffix(filepath.Base(file), ".md")
	r.document(data)
	if d == Claude && (len(r.wrong) > 0 || r.skip) {
		for i := range r.wrong {
			r.wrong[i].What += "; the agent is left out"
		}
		r.cfg, r.warnings, r.wrong = hook.AgentConfig{}, append(r.warnings, r.wrong...), nil
	}
	if len(r.wrong) > 0 {
		r.cfg = hook.AgentConfig{}
	}
	return r
}

// reader collects what one file says.
type reader struct {
	file     string
	dialect  Dialect
	cfg      hook.AgentConfig
	at       map[string]*yaml.Node // the values of the keys
	warnings Problems
	wrong    Problems
	// skip leaves the agent out.
	skip bool
}

// errorAt notes a problem at a node of the frontmatter, which begins in line 2.
func (r *reader) errorAt(n *yaml.Node, what, fix string) {
	r.wrong = append(r.wrong, r.problem(n, what, fix))
}

func (r *reader) warnAt(n *yaml.Node, what, fix string) {
	r.warnings = append(r.warnings, r.problem(n, what, fix))
}

func (r *reader) problem(n *yaml.Node, what, fix string) Problem {
	return Problem{File: r.file, Line: n.Line + 1, Column: n.Column, What: what, Fix: fix}
}

func (r *reader) errorLine(line int, what, fix string) {
	r.wrong = append(r.wrong, Problem{File: r.file, Line: line, Column: 1, What: what, Fix: fix})
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func (r *reader) document(data []byte) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	front, body, ok := cut(string(data))
	if begun, _, _ := strings.Cut(string(data), "\n"); !ok && strings.TrimRight(begun, " \t") == "---" {
		r.errorLine(1, "the frontmatter has no end", "write a second line `---` below the keys")
		return
	}
	if !ok {
		r.errorLine(1, "the frontmatter is missing", "begin the file with a line `---`, the keys, and a second line `---`")
		return
	}
	r.cfg.Instructions = strings.TrimSpace(body)
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(front), &doc); err != nil {
		line := 1 // the parser names no line for the first one
		if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
			line, _ = strconv.Atoi("0" + m[1])
		}
		r.errorLine(max(line, 1)+1, "the frontmatter is no YAML: "+yamlLine.ReplaceAllString(err.Error(), ""),
			"put a value that holds `: ` or begins with a special character in quotes")
		return
	}
	if len(doc.Content) == 0 {
		return
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		r.errorAt(top, "the frontmatter is no mapping", "write `key: value` lines")
		return
	}
	r.at = map[string]*yaml.Node{}
	r.mapping(top)
	r.agree()
	if !hook.ValidToolName(r.cfg.Name) {
		r.errorAt(top, fmt.Sprintf("%q is no name for an agent", r.cfg.Name),
			"set `name:` to 1 to 64 letters, digits, _ or -")
	}
}

// cut splits a file at the two lines `---`.
func cut(text string) (front, body string, ok bool) {
	first, rest, found := strings.Cut(text, "\n")
	if !found || strings.TrimRight(first, " \t") != "---" {
		return "", "", false
	}
	for at := 0; at < len(rest); {
		line, _, more := strings.Cut(rest[at:], "\n")
		if strings.TrimRight(line, " \t") == "---" {
			end := at + len(line)
			if more {
				end++
			}
			return rest[:at], rest[end:], true
		}
		at += len(line) + 1
	}
	return "", "", false
}
