package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/grapnel-go/grapnel/internal/supervisor"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/guard"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/limits"
)

// Command is a command for [Sandbox.Start]. Path is the program's file; it is not looked up.
type Command struct {
	Path string
	Args []string
	// Env are further variables, as NAME=value, beside those that every process inherits.
	Env []string
	// Dir is the working directory; "" is the project.
	Dir string
	// Lasting: the process lives on while people and other processes change the project, as servers do. It cannot change the project
	// without [Grant.Change], and what appears while it runs is not moved away, because nobody knows who has made it.
	Lasting               bool
	Stdin, Stdout, Stderr *os.File
}

// Process is a process that was started. It is safe for concurrent use.
type Process struct {
	inner  *supervisor.Process
	ended  chan struct{}
	report End // written before ended is closed
}

// End is what is known when a process has ended.
type End struct {
	// Moved are paths that were moved out of the project, because what is there runs code outside later, each with where it is now.
	Moved []Moved
	// Refused are the hosts that the process has asked for in vain.
	Refused []string
	// Limit says which limit ended the process; "" if none did.
	Limit string
}

// maxLines is how many moved paths are told one by one.
const maxLines = 20

// Lines returns what there is to say, a sentence each, with further ones such as those of [Sandbox.Hints].
func (e End) Lines(more []string) (out []string) {
	for i, m := range e.Moved {
		if i == maxLines {
			out = append(out, fmt.Sprintf("and %d more", len(e.Moved)-i))
			break
		}
		if m.To == "" {
			out = append(out, fmt.Sprintf("%s is not allowed here: %s", m.Path, m.Why))
			continue
		}
		out = append(out, fmt.Sprintf("%s was moved away, to %s, where it stays for %d days: %s", m.Path, m.To, int(kept.Hours()/24), m.Why))
	}
	for _, host := range e.Refused {
		out = append(out, fmt.Sprintf("there is no way to %s; if it is needed, call again with needs: [\"connect %s\"]", host, host))
	}
	if e.Limit != "" {
		out = append(out, e.Limit)
	}
	return append(out, more...)
}

// Moved is a path that was moved out of the project.
type Moved = guard.Moved

// Done returns a channel that is closed when the process, and all that it has started, has ended, and the project was looked through.
func (p *Process) Done() <-chan struct{} { return p.ended }

// Status returns how the process ended. Call it after Done is closed.
func (p *Process) Status() supervisor.Status { return p.inner.Status() }

// End returns what else is known. Call it after Done is closed.
func (p *Process) End() End { return p.report }

// Kill kills the process and all that it has started. It does not wait.
func (p *Process) Kill() { p.inner.Kill() }

// Terminate asks the process to end. It does not wait.
func (p *Process) Terminate() { p.inner.Terminate() }

// Pid returns the id of the process outside.
func (p *Process) Pid() int { return p.inner.Pid() }

// Start starts a command with a grant, at the level of this machine: see [Sandbox.Report]. It never runs a command with less. An
// error says that the command has not run; one that wraps [supervisor.JailError] says that the sandbox could not be made.
func (s *Sandbox) Start(c Command, g Grant) (*Process, error) {
	s.Report()
	if s.strict && (g.UnixSockets || len(g.Read)+len(g.Write) > 0) {
		return nil, fmt.Errorf("sandbox: %w", errStrict)
	}
	g.ReadOnly = g.ReadOnly || s.mode == ReadOnly || c.Lasting && !g.Change
	run := supervisor.Command{Path: c.Path, Args: c.Args, Dir: c.Dir, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr}
	if run.Dir == "" {
		run.Dir = cmp.Or(g.Below, s.project)
	}
	run.Env = append(run.Env, s.environ...)
	if g.Outside || s.mode == Unrestricted || s.report.Level == None || s.strict && s.report.Level != Full {
		run.Env = append(run.Env, c.Env...)
		return s.plain(run)
	}
	slot, err := s.dirs.take(c.Lasting)
	if err != nil {
		return nil, fmt.Errorf("sandbox: layers of caches: %w", err)
	}
	p, err := s.confined(run, c, g, slot)
	if err != nil {
		slot.free()
		return nil, err
	}
	return p, nil
}

// plain starts a command without a sandbox. What it leaves in the project is not looked through.
func (s *Sandbox) plain(c supervisor.Command) (*Process, error) {
	if s.strict {
		return nil, fmt.Errorf("sandbox: %w", errStrict)
	}
	inner, err := s.commands.Start(c)
	if err != nil {
		return nil, err
	}
	p := &Process{inner: inner, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		<-inner.Done()
	}()
	return p, nil
}

// tries is how often a command is started again because the project has changed meanwhile.
const tries = 50

func (s *Sandbox) confined(c supervisor.Command, of Command, g Grant, slot *slot) (p *Process, err error) {
	if err := slot.makeLayers(); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	s.finish(slot)
	for i := range tries {
		time.Sleep(time.Duration(i) * time.Millisecond)
		p, err = s.try(c, of, g, slot)
		if !moved(err) {
			return p, err
		}
	}
	return nil, err
}

// moved reports whether a jail could not be made because something that was to be fenced is not where it was. Nothing else is mounted at a
// place that commands can change.
func moved(err error) bool {
	var j *supervisor.JailError
	if !errors.As(err, &j) || !strings.HasPrefix(j.Step, "mount ") {
		return false
	}
	for _, is := range []error{fs.ErrNotExist, syscall.ESTALE, syscall.ENOTDIR, syscall.ELOOP} {
		if errors.Is(j, is) {
			return true
		}
	}
	return false
}

// try looks, and starts a command with what it has seen.
func (s *Sandbox) try(c supervisor.Command, of Command, g Grant, slot *slot) (*Process, error) {
	look, err := s.look(g)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	err = s.confine(&c, g, slot, look.fences())
	if err == nil && !of.Lasting {
		err = s.keep(look, slot)
	}
	if err != nil {
		look.close()
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	c.Env = append(c.Env, of.Env...)
	inner, bounds, door, err := s.begin(c, g)
	if err != nil {
		look.close()
		return nil, err
	}
	if of.Lasting {
		look.close()
	}
	p := &Process{inner: inner, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		<-inner.Done()
		p.report = End{Limit: bounds.end(), Refused: door.close()}
		if !of.Lasting {
			p.report.Moved = look.end()
		}
		slot.free()
		s.tell(p.report.Moved)
	}()
	return p, nil
}

// keep writes down what was there before a command.
func (s *Sandbox) keep(look *watched, slot *slot) error {
	h, err := s.commands.Helper()
	if err != nil {
		return err
	}
	return look.keep(slot, h)
}

// begin starts a confined command with its limits and its way to the hosts of the grant.
func (s *Sandbox) begin(c supervisor.Command, g Grant) (*supervisor.Process, *bounds, *door, error) {
	b, err := s.bound()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("sandbox: limits: %w", err)
	}
	if b.group != nil {
		c.Cgroup = b.group.FD()
	}
	inner, err := s.commands.Start(c)
	if err != nil {
		b.end()
		return nil, nil, nil, err
	}
	d, err := s.open(inner, g)
	if err != nil {
		inner.Kill()
		<-inner.Done()
		b.end()
		return nil, nil, nil, fmt.Errorf("sandbox: network: %w", err)
	}
	b.watch(inner, s.limits)
	return inner, b, d, nil
}

// tell tells the person what was moved out of the project: it may have been theirs.
func (s *Sandbox) tell(moved []Moved) {
	if s.note == nil {
		return
	}
	for _, line := range (End{Moved: moved}).Lines(nil) {
		s.note(line)
	}
}

// bounds keep one process and all that it starts to the limits: by a cgroup where there is one, else by a watcher.
type bounds struct {
	group *limits.Group
	stop  context.CancelFunc
	why   chan string // what the watcher said; nil without one
}

func (s *Sandbox) bound() (*bounds, error) {
	if !s.machine.means.Cgroup() {
		return &bounds{}, nil
	}
	g, err := s.machine.means.Group(s.limits)
	return &bounds{group: g}, err
}

// watch watches a process that no cgroup limits.
func (b *bounds) watch(p *supervisor.Process, l Limits) {
	if b.group != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.stop, b.why = cancel, make(chan string, 1)
	go func() {
		said := ""
		limits.Watch(ctx, p.Pid(), l, func(why string) { said = why; p.Kill() })
		b.why <- said
	}()
}

// end lets go of the process, which has ended, and says which limit has ended it; "" if none did.
func (b *bounds) end() (why string) {
	if b.group != nil {
		why = b.group.Why()
		_ = b.group.Close() // a group that is left is removed at the next start
		return why
	}
	if b.stop == nil {
		return ""
	}
	b.stop()
	return <-b.why
}
