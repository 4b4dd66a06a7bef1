package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/grapnel-go/grapnel/internal/privatedir"
	"github.com/grapnel-go/grapnel/internal/supervisor"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/guard"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/limits"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/paths"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/tools"
)

// Options are the settings of a [Sandbox].
type Options struct {
	// Project is the directory that processes may change. It must exist.
	Project string
	// State is a directory for what is temporary, for writable layers of caches and for what is moved out of the project. It is made,
	// for its owner alone. If it lies in the project, Confines is false.
	State string
	// Hidden are absolute paths that no process sees, such as the directory of the program's own databases.
	Hidden []string
	// Readable are further absolute paths that every process may read, also below a hidden one.
	Readable []string
	// Environ is the environment from which processes inherit some variables, as NAME=value. Nil is that of this process.
	Environ []string
	// Mode is what processes may do; "" is Project.
	Mode Mode
	// Strict: no process starts below the level Full, and requests are granted for hosts and for changing the project only. So people who
	// share a user of the machine, and may approve requests, cannot reach each other's files.
	Strict bool
	// Limits bound what a command uses with all that it starts. A zero field is the default: half of the machine's memory, between 1 and
	// 8 GiB; 512 processes; files of 4 GiB.
	Limits Limits
	// Note gets a sentence if less than the full level can be enforced, when that is found out, and one for each path that is moved out
	// of the project. It may be called at any time. Nil drops them.
	Note func(text string)
	// Supervisor starts the processes. The caller closes it, after the Sandbox. Nil: the Sandbox has its own.
	Supervisor *supervisor.Supervisor
}

// Limits bound what a command uses with all that it starts: Memory in bytes, without files that are mapped; the number of Processes; and
// FileSize in bytes of one file.
type Limits = limits.Limits

// Sandbox starts confined processes for one project. The zero value is not usable; [New] makes one. It is safe for concurrent use.
type Sandbox struct {
	project, home string
	rules
	hidden   []string
	readable []string
	env      map[string]string
	environ  []string
	dirs     dirs
	commands *supervisor.Supervisor
	ours     bool // Close closes commands

	note    func(text string)
	probing sync.Once
	report  Report  // written once, while probing
	machine machine // written once, while probing

	guard  *guard.Guard
	limits limits.Limits
}

// rules are what processes may do at most.
type rules struct {
	mode   Mode
	strict bool
}

// machine is what is known of a machine.
type machine struct {
	landlock bool // the kernel has it
	means    limits.Means
	secrets  []string // what only root may read; for root alone
}

// New returns a sandbox for a project. It starts no process; the first use finds out the level of the machine. If a program was killed
// while a command ran, New moves away what has appeared since at places from which code is run outside; see [Options.Note].
func New(o Options) (*Sandbox, error) {
	project, err := filepath.Abs(o.Project)
	if err == nil {
		project, err = filepath.EvalSymlinks(project)
	}
	if err != nil {
		return nil, fmt.Errorf("sandbox: project: %w", err)
	}
	state, err := filepath.Abs(o.State)
	if err != nil {
		return nil, fmt.Errorf("sandbox: state: %w", err)
	}
	if o.State == "" {
		return nil, errors.New("sandbox: there is no state directory; name one in Options.State")
	}
	if err := privatedir.Make(state); err != nil {
		return nil, fmt.Errorf("sandbox: state: %w", err)
	}
	if state, err = filepath.EvalSymlinks(state); err != nil {
		return nil, fmt.Errorf("sandbox: state: %w", err)
	}
	d, err := openDirs(state, project)
	if err != nil {
		return nil, fmt.Errorf("sandbox: state: %w", err)
	}
	environ := o.Environ
	if environ == nil {
		environ = os.Environ()
	}
	s := &Sandbox{
		project: project, rules: rules{cmp.Or(o.Mode, Project), o.Strict}, note: o.Note, environ: tools.Inherited(environ), env: tools.Variables(environ), dirs: d, commands: o.Supervisor,
		hidden: append(real(o.Hidden), state), readable: slices.Clone(o.Readable), limits: bounded(o.Limits),
	}
	if home := s.env["HOME"]; filepath.IsAbs(home) {
		s.home = filepath.Clean(home)
	}
	if s.commands == nil {
		s.commands, s.ours = supervisor.New(), true
	}
	s.guard, err = guard.New(guard.Options{Project: project, Home: s.home, State: d.state, Quarantine: d.quarantine})
	if err != nil {
		return nil, fmt.Errorf("sandbox: project: %w", err)
	}
	s.recover()
	return s, nil
}

// real returns the paths, and where their links lead.
func real(all []string) (out []string) {
	for _, p := range all {
		out = append(out, p)
		if to, err := filepath.EvalSymlinks(p); err == nil && to != p {
			out = append(out, to)
		}
	}
	return out
}

// Close ends all processes, unless the supervisor is the caller's.
func (s *Sandbox) Close() error {
	err := s.guard.Close()
	if s.ours {
		err = errors.Join(err, s.commands.Close())
	}
	return err
}

// Project returns the absolute path of the project, without symbolic links.
func (s *Sandbox) Project() string { return s.project }

// Report returns what this machine can enforce. The first call tries it out, which takes some milliseconds.
func (s *Sandbox) Report() Report {
	s.probing.Do(func() {
		s.probe()
		if s.report.Level != Full && s.mode != Unrestricted && s.note != nil {
			s.note(fmt.Sprintf("commands have the level %s of the sandbox, so they are asked about: %s; `grapnel sandbox explain` says how to get the full one", s.report.Level, s.report.Why))
		}
	})
	return s.report
}

// bounded returns the limits with the defaults in the place of zero ones.
func bounded(l Limits) Limits {
	d := limits.Default()
	return Limits{Memory: cmp.Or(l.Memory, d.Memory), Processes: cmp.Or(l.Processes, d.Processes), FileSize: cmp.Or(l.FileSize, d.FileSize)}
}

// Mode returns the mode.
func (s *Sandbox) Mode() Mode { return s.mode }

// Enforces reports whether limits of a [Grant] can be enforced at all.
func (s *Sandbox) Enforces() bool { return s.mode != Unrestricted && s.Report().Level != None }

// Confines reports whether a process is confined as the modes ReadOnly and Project promise: at the level Full, in a project that is
// not the home directory or around it. If not, why says so in one line, for the
// person who is asked instead; "" in the mode Unrestricted.
func (s *Sandbox) Confines() (ok bool, why string) {
	if s.mode == Unrestricted {
		return false, "" // who has said so knows why
	}
	home := s.home
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	if _, around := paths.Below(s.project, home); around && home != "" || s.project == "/" {
		return false, "the project is the home directory or has it in it, so a sandbox would hide nothing; start in the directory of one project"
	}
	if _, in := paths.Below(s.project, s.dirs.state); in {
		return false, "the state directory " + s.short(s.dirs.state) + " lies in the project, where commands could change it; set GRAPNEL_HOME to another place"
	}
	if r := s.Report(); r.Level != Full {
		return false, fmt.Sprintf("the sandbox has the level %s here (%s); `grapnel sandbox explain` says how to get the full one", r.Level, r.Why)
	}
	return true, ""
}

// Describe says what processes can reach, for the prompt of a model.
func (s *Sandbox) Describe() string {
	can := "It can change files of the project"
	if s.mode == ReadOnly {
		can = "It can change no file of the project"
	}
	return can + " and of /tmp, which lasts, and of its home directory, which ends with it. The rest of the machine is read-only or not there:" +
		" no keys, no other processes, no unix sockets, and no network but its own loopback. In the project, .git/hooks, .git/config and" +
		" settings of editors, shells and agents cannot be changed. If a command fails for lack of something, call again with what it needs."
}
