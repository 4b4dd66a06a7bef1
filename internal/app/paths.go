package app

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/grapnel-go/grapnel/internal/agentfile"
	"github.com/grapnel-go/grapnel/internal/conffile"
	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/internal/privatedir"
	"github.com/grapnel-go/grapnel/internal/tenant"
	"github.com/grapnel-go/grapnel/internal/trust"
)

// Paths are the places that the program reads and writes.
type Paths struct {
	// Root is the project: an absolute path. File tools see nothing outside it,
	// and it is bash's working directory.
	Root string
	// Owner is whose tenant of the project this is; "" is the user's own. [Paths.Of] sets it.
	Owner string
	// Home is the user's home directory; "" if there is none.
	Home string
	// State is the directory of the databases and other stored data, which only the user can
	// read. That of an owner lies in that of the user.
	State string
	// Conversations, Memories and Schedules are the databases in State.
	Conversations string
	Memories      string
	Schedules     string
	// Database is the DSN of the PostgreSQL database that has all this instead; "" is the files. It
	// may have a password.
	Database string
	// Note says what was repaired in State; "" is nothing.
	Note string
}

// Project returns the id of the tenant in the databases: the project's root, with the owner if there is one. It depends only on the
// place of the project and not on its files, so a project cannot impersonate another one.
func (p Paths) Project() string { return tenant.ID{Owner: p.Owner, Root: p.Root}.String() }

// Of returns the paths of an owner's tenant of the project: its state is a directory of its own, so that nothing that is stored beside
// the databases is shared.
func (p Paths) Of(owner string) (Paths, error) {
	if err := tenant.CheckOwner(owner); err != nil {
		return p, err
	}
	out, err := p.In(filepath.Join("owners", owner))
	out.Owner = owner
	return out, err
}

// userState is the state directory of the user, in which those of the owners lie.
func (p Paths) userState() string {
	if p.Owner == "" {
		return p.State
	}
	return filepath.Dir(filepath.Dir(p.State))
}

// Abandoned reports whether the root of a project is no directory any more. If the root cannot
// be read, it may still exist: then it returns false. It is false for the tenant of an owner, whose
// conversations nobody else adopts.
func Abandoned(project string) bool {
	id := tenant.Parse(project)
	if id.Owner != "" {
		return false
	}
	info, err := os.Stat(id.Root)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir()
}

// DefaultAgent is the name of the agent that always exists.
const DefaultAgent = "grapnel"

// DatabaseVariable is the environment variable with the DSN of the database.
const DatabaseVariable = "GRAPNEL_STORE"

// FindPaths returns the paths of the project in dir; "" is the working directory. The state
// directory is $GRAPNEL_HOME, else $XDG_STATE_HOME/grapnel, else ~/.local/state/grapnel.
// FindPaths makes it, for the user alone, and writes nothing in the project.
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
	if p.Database = getenv(DatabaseVariable); p.Database != "" {
		err = pgdb.CheckDSN(p.Database)
	}
	return p, errors.Join(err, probe(p.State))
}

func (p *Paths) databases() {
	p.Conversations = filepath.Join(p.State, "conversations.db")
	p.Memories = filepath.Join(p.State, "memory.db")
	p.Schedules = filepath.Join(p.State, "schedules.db")
}

// In returns the same paths with the state in a subdirectory.
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

// private makes the state directory, for the user alone: a user who can write there can answer
// approvals. note says what was repaired.
func private(dir, home string) (note string, err error) {
	if rel, err := filepath.Rel(dir, home); err == nil && filepath.IsLocal(rel) {
		return "", fmt.Errorf("the state directory %s contains your home directory; set GRAPNEL_HOME to a directory of its own", dir)
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

// probe returns an error if no file can be made in the state directory.
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

// trusted returns the file of the project's requests that were allowed for good: by the user, for all owners. The key of a
// list of servers is its path. Other keys are below the project's root: both names for a server
// of an agent, "policy" for rules, "memory" for memories of the user, and "hooks" for settings.
func (p Paths) trusted() trust.File {
	return trust.File{Path: filepath.Join(p.userState(), "trusted-servers.json")}
}

// locks returns the directory with one locked file for each live process.
func (p Paths) locks() string { return filepath.Join(p.State, "locks") }

// Approvals returns the directory of the answers that were remembered for good; package
// approval writes it.
func (p Paths) Approvals() string { return filepath.Join(p.State, "approvals") }

// audit returns the directory of the record of the audit, or of the key of this machine's part of it.
func (p Paths) audit() string { return filepath.Join(p.State, "audit") }

// undo returns the directory of the project's snapshots.
func (p Paths) undo() string {
	sum := sha256.Sum256([]byte(p.Root))
	return filepath.Join(p.State, "undo", hex.EncodeToString(sum[:16]))
}

var notInFileNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// History is the file with the lines that were typed in a place: the directory of a project, or the URL of a server.
func (p Paths) History(place string) string {
	sum := sha256.Sum256([]byte(place))
	name := notInFileNames.ReplaceAllString(filepath.Base(place), "_") + "-" + hex.EncodeToString(sum[:6]) + ".jsonl"
	return filepath.Join(p.State, "history", name)
}

// bundledSkills returns the directory of the program's own skills.
func (p Paths) bundledSkills() string { return filepath.Join(p.State, "skills") }

// skillDirs returns the directories of skills. The first directory that has a name counts: the
// project's before the user's and the program's, and in each our own before those that other
// programs use too.
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

// agentDirs returns the directories of agents, in the order of their precedence.
func (p Paths) agentDirs() []agentfile.Dir {
	return []agentfile.Dir{
		{Path: filepath.Join(p.Root, ".grapnel", "agents"), Dialect: agentfile.Grapnel, Within: p.Root},
		{Path: filepath.Join(p.Root, ".claude", "agents"), Dialect: agentfile.Claude, Within: p.Root},
	}
}

// servers returns the file with the project's MCP servers.
func (p Paths) servers() string { return filepath.Join(p.Root, ".mcp.json") }

// projectRules and userRules return the files of rules for tool calls; the user's is ""
// without a home directory.
func (p Paths) projectRules() string { return filepath.Join(p.Root, ".grapnel", "policy.json") }

func (p Paths) userRules() string {
	if p.Home == "" {
		return ""
	}
	return filepath.Join(p.Home, ".grapnel", "policy.json")
}

// projectHooks and userHooks return the files with the settings of subsystems; the user's is
// "" without a home directory.
func (p Paths) projectHooks() string { return filepath.Join(p.Root, ".grapnel", "hooks.json") }

func (p Paths) userHooks() string {
	if p.Home == "" {
		return ""
	}
	return filepath.Join(p.Home, ".grapnel", "hooks.json")
}

// config returns the file with the user's models, vendors and limits of spending; "" without a
// home directory.
func (p Paths) config() string {
	if p.Home == "" {
		return ""
	}
	return filepath.Join(p.Home, ".grapnel", "config.yaml")
}

// projectConfig returns the project's file of that name, which has limits of spending only.
func (p Paths) projectConfig() string { return filepath.Join(p.Root, ".grapnel", "config.yaml") }

// readUser reads a JSON file of the user, which may be a symbolic link. It returns nil if there
// is no file, and for "".
func readUser(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	return optional(conffile.Read(file, &conffile.Options{JSON: true}))
}

// readProject reads a JSON file of the project, which must lie inside it. It returns nil if
// there is no file.
func (p Paths) readProject(file string) ([]byte, error) {
	return optional(conffile.Read(file, &conffile.Options{Within: p.Root, JSON: true}))
}

func optional(data []byte, err error) ([]byte, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// prices returns the file of the user's price list; "" without a home directory.
func (p Paths) prices() string {
	if p.Home == "" {
		return ""
	}
	return filepath.Join(p.Home, ".grapnel", "prices.json")
}

// Short returns a path in its short form: relative to the project, or with ~ for the home
// directory.
func (p Paths) Short(path string) string {
	if rel, err := filepath.Rel(p.Root, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	if p.Home != "" && strings.HasPrefix(path, p.Home+string(filepath.Separator)) {
		return "~" + path[len(p.Home):]
	}
	return path
}
