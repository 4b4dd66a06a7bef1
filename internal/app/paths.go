package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/grapnel-go/grapnel/internal/agentfile"
	"github.com/grapnel-go/grapnel/internal/conffile"
	"github.com/grapnel-go/grapnel/internal/privatedir"
	"github.com/grapnel-go/grapnel/internal/trust"
)

// Paths are the places that the program reads and writes.
type Paths struct {
	// Root is the project: an absolute path. File tools see nothing outside it,
	// and it is bash's working directory.
	Root string
	// Home is the user's home directory; "" if there is none.
	Home string
	// State is the directory of what lasts, readable by the user alone.
	State string
	// Conversations and Memories are the databases in State.
	Conversations string
	Memories      string
	// Note says what was put right about State; "" if nothing.
	Note string
}

// Project is the id of the project in the databases: its root. It is found by where the
// project lies and by nothing that lies in it, so no project can pass for another.
func (p Paths) Project() string { return p.Root }

// Abandoned reports whether there is no directory at the root of a project any more.
// What cannot be looked at may still be there.
func Abandoned(project string) bool {
	info, err := os.Stat(project)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir()
}

// DefaultAgent is the name of the agent that is always there.
const DefaultAgent = "grapnel"

// FindPaths returns the paths of the project in dir, "" for the working
// directory. The state is in $GRAPNEL_HOME, else $XDG_STATE_HOME/grapnel, else
// ~/.local/state/grapnel; the directory is made, for the user alone. Nothing in
// the project is written.
func FindPaths(dir string, getenv func(string) string) (Paths, error) {
	root, err := project(dir)
	if err != nil {
		return Paths{}, err
	}
	p := Paths{Root: root, Home: getenv("HOME")}
	if p.State, err = stateDir(p.Home, getenv); err != nil {
		return Paths{}, err
	}
	if p.Note, err = private(p.State, p.Home); err != nil {
		return Paths{}, err
	}
	p.databases()
	return p, probe(p.State)
}

func (p *Paths) databases() {
	p.Conversations = filepath.Join(p.State, "conversations.db")
	p.Memories = filepath.Join(p.State, "memory.db")
}

// In returns the same paths with the state in a directory of its own below.
func (p Paths) In(name string) (Paths, error) {
	p.State = filepath.Join(p.State, name)
	p.databases()
	_, err := private(p.State, p.Home)
	return p, err
}

// project returns the absolute path of dir without symbolic links.
func project(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the project: %w", err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("there is no directory %s; make it, or name another one with --dir", abs)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is no directory; name one with --dir", abs)
	}
	return real, nil
}

func stateDir(home string, getenv func(string) string) (string, error) {
	dir := getenv("GRAPNEL_HOME")
	if xdg := getenv("XDG_STATE_HOME"); dir == "" && filepath.IsAbs(xdg) {
		dir = filepath.Join(xdg, "grapnel")
	}
	if dir == "" {
		if home == "" {
			return "", errors.New("there is no place for the databases: set HOME, or GRAPNEL_HOME to a directory of its own")
		}
		dir = filepath.Join(home, ".local", "state", "grapnel")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the state directory: %w", err)
	}
	return dir, nil
}

// private makes the state directory, for the user alone: whoever else can write there can
// answer approvals. note says what was put right.
func private(dir, home string) (note string, err error) {
	if rel, err := filepath.Rel(dir, home); err == nil && filepath.IsLocal(rel) {
		return "", fmt.Errorf("the state directory %s has your home directory in it; set GRAPNEL_HOME to a directory of its own", dir)
	}
	note, err = privatedir.Repair(dir)
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return "", unwritable(dir, err)
	}
	if err != nil {
		return "", fmt.Errorf("the state directory cannot be trusted: %w, or set GRAPNEL_HOME to another one", err)
	}
	return note, nil
}

// probe reports whether files can be made in the state directory.
func probe(dir string) error {
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return unwritable(dir, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func unwritable(dir string, err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("the state directory %s cannot be written: %w; set GRAPNEL_HOME to one that can", dir, err)
}

// trusted is the file of what was allowed for good: a list of servers by its path, a server of
// an agent by both names below the project, the rules by "policy" below it, who wants the
// memories of the user by "memory", and settings of subsystems by "hooks".
func (p Paths) trusted() trust.File {
	return trust.File{Path: filepath.Join(p.State, "trusted-servers.json")}
}

// locks is where each process has a file as long as it lives.
func (p Paths) locks() string { return filepath.Join(p.State, "locks") }

// Approvals is where answers are kept that were remembered for good: the directory of
// package approval.
func (p Paths) Approvals() string { return filepath.Join(p.State, "approvals") }

// bundledSkills is where the program writes the skills that it brings.
func (p Paths) bundledSkills() string { return filepath.Join(p.State, "skills") }

// skillDirs are where skills are looked for, the first one to have a name
// winning: the project's before the user's and those that the program brings,
// and in each our own before those that we share with other programs.
func (p Paths) skillDirs() []string {
	var dirs []string
	for _, base := range []string{p.Root, p.Home} {
		if base == "" || len(dirs) > 0 && base == p.Root {
			continue
		}
		for _, name := range []string{".grapnel", ".agents", ".claude"} {
			dirs = append(dirs, filepath.Join(base, name, "skills"))
		}
	}
	return append(dirs, p.bundledSkills())
}

// agentDirs are where agents are looked for, in order.
func (p Paths) agentDirs() []agentfile.Dir {
	return []agentfile.Dir{
		{Path: filepath.Join(p.Root, ".grapnel", "agents"), Dialect: agentfile.Grapnel, Within: p.Root},
		{Path: filepath.Join(p.Root, ".claude", "agents"), Dialect: agentfile.Claude, Within: p.Root},
	}
}

// servers is the project's list of MCP servers.
func (p Paths) servers() string { return filepath.Join(p.Root, ".mcp.json") }

// projectRules and userRules are the files of rules for tool calls; the user's is ""
// without a home directory.
func (p Paths) projectRules() string { return filepath.Join(p.Root, ".grapnel", "policy.json") }

func (p Paths) userRules() string {
	if p.Home == "" {
		return ""
	}
	return filepath.Join(p.Home, ".grapnel", "policy.json")
}

// projectHooks and userHooks are the files that turn subsystems off or tune them; the
// user's is "" without a home directory.
func (p Paths) projectHooks() string { return filepath.Join(p.Root, ".grapnel", "hooks.json") }

func (p Paths) userHooks() string {
	if p.Home == "" {
		return ""
	}
	return filepath.Join(p.Home, ".grapnel", "hooks.json")
}

// readUser reads a file of the user's in JSON, which may be a link. Without the file it
// returns nil, as for the name "".
func readUser(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	return optional(conffile.Read(file, &conffile.Options{JSON: true}))
}

// readProject reads a file of the project's in JSON, which must not lie elsewhere. Without
// the file it returns nil.
func (p Paths) readProject(file string) ([]byte, error) {
	return optional(conffile.Read(file, &conffile.Options{Within: p.Root, JSON: true}))
}

func optional(data []byte, err error) ([]byte, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// prices is the user's price list; "" without a home directory.
func (p Paths) prices() string {
	if p.Home == "" {
		return ""
	}
	return filepath.Join(p.Home, ".grapnel", "prices.json")
}

// Short returns a path as a person writes it: relative to the project, or with ~
// for the home directory.
func (p Paths) Short(path string) string {
	if rel, err := filepath.Rel(p.Root, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	if p.Home != "" && strings.HasPrefix(path, p.Home+string(filepath.Separator)) {
		return "~" + path[len(p.Home):]
	}
	return path
}
