// Package ostools gives an agent a shell and files: the tools bash, read,
// write, edit, glob and grep, all of them at one directory, the root.
//
// The file tools use [os.Root]: they open no file outside the root, whatever a path or a
// symbolic link says, and even if links change during a call. What is mounted below the root
// is a part of it, except file systems of the kernel such as proc. bash runs in the sandbox of
// the Options. Without one it only starts in the root, and a command can do whatever the
// user of this program can: leave bash out (see [Section]), or let a person approve each
// call.
//
//	tools, err := ostools.New("/home/me/project", &ostools.Options{Sandbox: box})
//	…
//	defer tools.Close()
//
// A file need not be read before it is edited. edit requires that the current file has
// the old text exactly once, so an edit of stale content fails. A list of read files per
// conversation would not be safer, and would be lost at a restart.
//
// Calls run concurrently. Changes of one file run one at a time.
package ostools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/supervisor"
	"github.com/grapnel-go/grapnel/runtime/sandbox"
)

// OS owns the tools. The zero value is not usable; [New] makes one. It is safe
// for concurrent use, also by several agents.
//
//hook:subsystem
type OS struct {
	hook.Nop

	main      tree
	readable  []tree
	shell     string
	environ   []string
	commands  *supervisor.Supervisor
	ours      bool // Close closes commands
	sandbox   *sandbox.Sandbox
	hardLinks bool
	locks     locks
}

var (
	_ hook.Hook    = (*OS)(nil)
	_ hook.OnClose = (*OS)(nil)
)

// Options are the settings of an [OS]. The zero value of each field is usable.
type Options struct {
	// Readable are further directories that read, glob and grep may use by absolute
	// path, for example the folders of skills. They are never written to. They may be
	// links, so do not take them from files below the root. Missing directories are
	// ignored, and so are paths below the root, which can be read anyway.
	Readable []string
	// HardLinks lets read, edit and grep open files with several names. By default they
	// are refused, because a hard link to a file outside the root looks like any file.
	HardLinks bool
	// Environ has the variables that commands may inherit, as NAME=value; they inherit
	// only a few of them. Nil is the environment of this process.
	Environ []string
	// Supervisor starts the commands, so that none outlives this process. The caller
	// closes it, after the OS. Nil: the OS has its own.
	Supervisor *supervisor.Supervisor
	// Sandbox confines the commands; its project is the root. The caller closes it, after the OS. Nil: nothing confines them.
	Sandbox *sandbox.Sandbox
}

// Section is the agent's section "ostools".
type Section struct {
	// Tools are the tools that the agent gets: bash, read, write, edit, glob,
	// grep. Nil means all, empty means none.
	Tools []string `json:"tools"`
}

// New opens the root, which must be an existing directory. Close the result after use; a
// runtime does so through OnClose.
func New(root string, o *Options) (*OS, error) {
	if o == nil {
		o = &Options{}
	}
	main, err := openTree(root)
	if err != nil {
		return nil, fmt.Errorf("ostools: root: %w", err)
	}
	t := &OS{main: main, hardLinks: o.HardLinks, shell: findShell(), commands: o.Supervisor, sandbox: o.Sandbox}
	if t.commands == nil {
		t.commands, t.ours = supervisor.New(), true
	}
	environ := o.Environ
	if environ == nil {
		environ = os.Environ()
	}
	t.environ = inherited(environ)
	for _, dir := range o.Readable {
		abs, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		if _, ok := main.inside(abs); ok {
			continue
		}
		if more, err := openTree(abs); err == nil {
			t.readable = append(t.readable, more)
		}
	}
	return t, nil
}

// findShell prefers bash, because models write for bash.
func findShell() string {
	for _, name := range []string{"bash", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Close releases the root. Later calls fail. It kills running commands, unless the
// supervisor is the caller's. A second Close does nothing.
func (o *OS) Close() error {
	err := o.main.root.Close()
	if o.ours {
		err = errors.Join(err, o.commands.Close())
	}
	for _, t := range o.readable {
		_ = t.root.Close()
	}
	return err
}

// OnClose closes the root.
func (o *OS) OnClose(context.Context) error { return o.Close() }

// Root returns the absolute path of the root, without symbolic links.
func (o *OS) Root() string { return o.main.path }

// OnBuildAgent refuses an agent whose section names a tool that does not exist.
func (o *OS) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	section, _, err := hook.SectionOf[Section](&cfg, "ostools")
	if err != nil {
		return cfg, err
	}
	names := o.names()
	for _, name := range section.Tools {
		if !slices.Contains(names, name) {
			return cfg, fmt.Errorf("agent %q: section ostools: tools: there is no %q; there are %s",
				cfg.Name, name, strings.Join(names, ", "))
		}
	}
	return cfg, nil
}

func (o *OS) names() []string {
	var names []string
	for _, t := range o.Schema() {
		names = append(names, t.Name)
	}
	return names
}

// ScopedTools gives an agent the tools that its section names. A wrong section gives
// none; OnBuildAgent refuses it.
func (o *OS) ScopedTools(cfg *hook.AgentConfig) hook.Scope {
	section, _, err := hook.SectionOf[Section](cfg, "ostools")
	if err != nil {
		return hook.Scope{Tools: []string{}}
	}
	if len(section.Tools) == 0 {
		return hook.Scope{Tools: section.Tools}
	}
	public := make([]string, len(section.Tools))
	for i, name := range section.Tools {
		public[i] = cfg.ToolName(name)
	}
	return hook.Scope{Tools: section.Tools, Line: "Of the tools for files and commands: " + strings.Join(public, ", ") + "."}
}

// SystemPrompt says where the agent's tools work and which limits they have.
func (o *OS) SystemPrompt(cfg *hook.AgentConfig) string {
	has := o.offered(cfg)
	var files []string
	for _, name := range []string{"read", "write", "edit", "glob", "grep"} {
		if has[name] {
			files = append(files, cfg.ToolName(name))
		}
	}
	var sb strings.Builder
	if len(files) > 0 {
		fmt.Fprintf(&sb, "Files: %s work below %s and nowhere else. Paths are relative to it, or absolute and inside it;"+
			" a link that leads out of it is refused.\n", strings.Join(files, ", "), o.main.path)
	}
	for _, t := range o.readable {
		if has["read"] || has["glob"] || has["grep"] {
			fmt.Fprintf(&sb, "Files below %s can be read by absolute path.\n", t.path)
		}
	}
	if has["bash"] {
		fmt.Fprintf(&sb, "Commands: %s starts %s in %s on %s. %s There is no"+
			" terminal and no input; everything that a command started is killed when it ends or after its timeout.\n",
			cfg.ToolName("bash"), filepath.Base(o.shell), o.main.path, runtime.GOOS, o.confinement())
		if has["edit"] {
			fmt.Fprintf(&sb, "Change files with %s rather than with a command.\n", cfg.ToolName("edit"))
		}
	}
	return strings.TrimSuffix(sb.String(), "\n")
}

// confinement says in the prompt what commands can reach.
func (o *OS) confinement() string {
	if ok, _ := o.confined(); ok {
		return o.sandbox.Describe()
	}
	return "It is not confined to that directory: a command can reach" +
		" whatever the user can who runs this program, so touch nothing outside unless you are asked to."
}

// confined reports whether commands run in a sandbox without being asked about, and if not, why.
func (o *OS) confined() (ok bool, why string) {
	if o.sandbox == nil {
		return false, ""
	}
	return o.sandbox.Confines()
}

// offered returns the local names of the tools that the agent has.
func (o *OS) offered(cfg *hook.AgentConfig) map[string]bool {
	scope := o.ScopedTools(cfg)
	has := map[string]bool{}
	for _, t := range o.Schema() {
		has[t.Name] = (scope.Tools == nil || slices.Contains(scope.Tools, t.Name)) &&
			(cfg.Tools == nil || slices.Contains(cfg.Tools, cfg.ToolName(t.Name)))
	}
	return has
}
