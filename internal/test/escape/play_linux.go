package escape

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience bounds the wait for what a command has set off: the end of its processes, and what it has sent.
const patience = 300 * time.Millisecond

// Result is how a command has ended.
type Result struct {
	Stdout, Stderr string
	Exit           int
}

// Runner runs a command of the attacker.
type Runner interface {
	// Run runs bash -c command in the project of the world, as its user, and returns when the command has ended and the runner has done all
	// that it does then. A command that fails or is killed for its limits is no error.
	Run(ctx context.Context, w *World, command string) (Result, error)
}

// RunnerFunc is a Runner that is one function.
type RunnerFunc func(ctx context.Context, w *World, command string) (Result, error)

// Run calls the function.
func (f RunnerFunc) Run(ctx context.Context, w *World, command string) (Result, error) {
	return f(ctx, w, command)
}

// Played is what a case has come to.
type Played struct {
	// Held are the conditions of the case that hold, Missed the others, both with their places filled.
	Held, Missed []Condition
	// Results are those of the command, each time, and of Again if there is one.
	Results []Result
	// Innocent is what the user's own command has printed.
	Innocent string
}

// String says what was played, for the message of a test.
func (p *Played) String() string {
	return fmt.Sprintf("held %v, missed %v, results %+v, then %q", p.Held, p.Missed, p.Results, p.Innocent)
}

// Play makes a world, plays a case in it with a runner, and removes the world. It is an error if the world could not be made, if the
// setup of the case failed, or if the runner returned one; an escape that reaches its goal is none.
func (m *Machine) Play(ctx context.Context, c *Case, r Runner) (p Played, err error) {
	w, err := m.world(ctx, c)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if c.Setup != "" {
		if out, err := w.asUser(ctx, c.Setup); err != nil {
			return p, fmt.Errorf("set up %s: %w: %s", c.Name, err, out)
		}
	}
	conditions := append(append([]Condition{}, c.Reached...), c.Wants...)
	for i := range conditions {
		conditions[i] = w.expanded(conditions[i])
		if path := conditions[i].Changed; path != "" {
			w.before[path] = state(path)
		}
	}
	if err := w.attack(ctx, c, r, &p); err != nil {
		return p, fmt.Errorf("run %s: %w", c.Name, err)
	}
	if c.Innocent != "" {
		p.Innocent, _ = w.asUser(ctx, c.Innocent) // what it was tricked into shows elsewhere
	}
	for _, cond := range conditions {
		if w.holds(&cond, &p) {
			p.Held = append(p.Held, cond)
		} else {
			p.Missed = append(p.Missed, cond)
		}
	}
	return p, nil
}

// attack runs the commands of the attacker.
func (w *World) attack(ctx context.Context, c *Case, r Runner, p *Played) (err error) {
	if c.Meanwhile != "" {
		beside, cancel := context.WithCancel(ctx)
		var other sync.WaitGroup
		other.Go(func() { _, _ = r.Run(beside, w, w.Expand(c.Meanwhile)) }) // it ends by being cancelled
		defer other.Wait()
		defer cancel()
		until(func() bool { _, err := os.Lstat(filepath.Join(w.Project, "started")); return err == nil })
	}
	for range max(c.Times, 1) {
		if err := w.once(ctx, c.Command, r, p); err != nil {
			return err
		}
	}
	if c.Again != "" {
		return w.once(ctx, c.Again, r, p)
	}
	return nil
}

// once runs a command and waits a while for its processes to end.
func (w *World) once(ctx context.Context, command string, r Runner, p *Played) error {
	res, err := r.Run(ctx, w, w.Expand(command))
	if err != nil {
		return err
	}
	p.Results = append(p.Results, res)
	until(func() bool { return len(w.marked()) == 0 })
	return nil
}

// until polls for a condition, and gives up after a while.
func until(ok func() bool) bool {
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if ok() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// expanded fills the places of a condition.
func (w *World) expanded(c Condition) Condition {
	for _, text := range []*string{&c.Output, &c.File, &c.Has, &c.Gone, &c.Changed} {
		*text = w.Expand(*text)
	}
	return c
}

// holds looks a condition up.
func (w *World) holds(c *Condition, p *Played) bool {
	switch {
	case c.Output != "":
		return p.says(c.Output)
	case c.File != "":
		return fileIs(c)
	case c.Gone != "":
		_, err := os.Lstat(c.Gone)
		return errors.Is(err, fs.ErrNotExist)
	case c.Changed != "":
		return w.before[c.Changed] != state(c.Changed)
	case c.Socket != "":
		return until(func() bool { return w.sinks.has(c.Socket, w.mark) })
	case c.Lives:
		return len(w.marked()) > 0
	case c.Exit != nil:
		return p.Results[0].Exit == *c.Exit
	}
	return until(func() bool {
		select {
		case <-w.victim.ended:
			return true
		default:
			return false
		}
	})
}

// says reports whether any output has a text.
func (p *Played) says(text string) bool {
	for _, r := range p.Results {
		if strings.Contains(r.Stdout, text) || strings.Contains(r.Stderr, text) {
			return true
		}
	}
	return strings.Contains(p.Innocent, text)
}

// fileIs reports whether the file of a condition is as it says.
func fileIs(c *Condition) bool {
	info, err := os.Lstat(c.File)
	if err != nil || c.Larger > 0 && info.Size() <= int64(c.Larger)<<20 {
		return false
	}
	if c.Has == "" {
		return true
	}
	if !info.Mode().IsRegular() {
		return false
	}
	data, err := os.ReadFile(c.File)
	return err == nil && strings.Contains(string(data), c.Has)
}

// state describes a path and all below it. Of directories it leaves out times, because a sandbox may make the place of a mount in them.
func state(path string) string {
	var sb strings.Builder
	_ = filepath.WalkDir(path, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			fmt.Fprintf(&sb, "%s: missing\n", path)
			return nil
		}
		info, err := os.Lstat(path)
		if err != nil {
			return nil
		}
		st, _ := info.Sys().(*syscall.Stat_t)
		fmt.Fprintf(&sb, "%s %v %d:%d", path, info.Mode(), st.Uid, st.Gid)
		if !info.IsDir() {
			fmt.Fprintf(&sb, " %d %v %v %d", st.Size, st.Mtim, st.Ctim, st.Nlink)
		}
		if info.Mode().IsRegular() {
			data, _ := os.ReadFile(path)
			fmt.Fprintf(&sb, " %x", sha256.Sum256(data))
		}
		sb.WriteByte('\n')
		return nil
	})
	return sb.String()
}
