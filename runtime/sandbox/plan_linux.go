package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/jail"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/guard"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/paths"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/tools"
)

// doorPort is the port of the proxy inside. Inside, every port is free.
const doorPort = 3128

// small is the size of a directory in memory in which nobody writes much.
const small = 16 << 20

// inMemory is the size of one in which commands write. What they write there is in no process, so no watcher counts it.
func (s *Sandbox) inMemory() int64 { return min(512<<20, s.limits.Memory/4) }

// plan makes the confinement of one process at the level full.
type plan struct {
	s      *Sandbox
	g      Grant
	slot   *slot
	fences []guard.Fence
	out    []jail.Mount
	write  []string
}

// full returns the confinement of a process at the level Full.
func (s *Sandbox) full(g Grant, slot *slot, fences []guard.Fence) (*jail.Spec, error) {
	p := &plan{s: s, g: g, slot: slot, fences: fences}
	p.base()
	p.homeDir()
	p.layers()
	p.granted()
	p.projectDir()
	p.hide()
	for _, dir := range s.readable {
		p.show(dir)
	}
	filter, err := filter(sockets{internet: true, unix: g.UnixSockets})
	if err != nil {
		return nil, err
	}
	spec := &jail.Spec{
		Namespaces: true, Base: s.dirs.base, Mounts: p.out, Write: append(p.write, "/dev", "/proc/self"), Filter: filter,
		Unlocked: !s.machine.landlock, Limits: s.rlimits(),
	}
	if len(g.Hosts) > 0 {
		spec.Door = doorPort
	}
	return spec, nil
}

func (p *plan) add(m jail.Mount) { p.out = append(p.out, m) }

// show binds a path read-only, if it is there.
func (p *plan) show(path string) {
	if _, err := os.Lstat(path); err != nil {
		return
	}
	p.add(jail.Mount{Op: jail.Bind, Source: path, Target: path, ReadOnly: true, Optional: true})
}

// base are the system, its devices and the directories for what is temporary.
func (p *plan) base() {
	for _, dir := range tools.System() {
		if to, err := os.Readlink(dir); err == nil {
			p.add(jail.Mount{Op: jail.Link, Source: to, Target: dir})
			continue
		}
		p.show(dir)
	}
	p.add(jail.Mount{Op: jail.Processes, Target: "/proc"})
	p.add(jail.Mount{Op: jail.Empty, Target: "/dev", Size: small})
	for _, dev := range tools.Devices() {
		p.add(jail.Mount{Op: jail.Bind, Source: dev, Target: dev, Optional: true})
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		p.add(jail.Mount{Op: jail.Link, Source: to, Target: "/dev/" + name})
	}
	p.add(jail.Mount{Op: jail.Terminals, Target: "/dev/pts", Optional: true})
	p.add(jail.Mount{Op: jail.Empty, Target: "/dev/shm", Shared: true, Size: p.s.inMemory()})
	p.add(jail.Mount{Op: jail.Empty, Target: "/run", Size: small})
	p.add(jail.Mount{Op: jail.Link, Source: "../run", Target: "/var/run"})
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		p.add(jail.Mount{Op: jail.Bind, Source: p.s.dirs.temp, Target: dir})
		p.write = append(p.write, dir)
	}
	readOnly, hidden := tools.Kernel()
	for _, path := range readOnly {
		p.add(jail.Mount{Op: jail.Again, Target: path, ReadOnly: true, Optional: true})
	}
	for _, path := range hidden {
		p.add(jail.Mount{Op: jail.Hide, Target: path, Optional: true})
	}
}

// homeDir is a home directory with tools, and with nothing else that is the user's.
func (p *plan) homeDir() {
	if p.s.home == "" {
		return
	}
	p.add(jail.Mount{Op: jail.Empty, Target: p.s.home, Size: p.s.inMemory()})
	p.write = append(p.write, p.s.home)
	for _, dir := range tools.Programs(p.s.env["PATH"], p.s.home, p.s.project, p.s.dirs.state) {
		if !slices.ContainsFunc(tools.System(), func(known string) bool { _, ok := paths.Below(known, dir); return ok }) {
			p.show(dir)
		}
	}
	for _, rel := range tools.Home() {
		if path := filepath.Join(p.s.home, filepath.FromSlash(rel)); !tools.Secretive(path) {
			p.show(path)
		}
	}
	if root := p.s.env["GOROOT"]; filepath.IsAbs(root) {
		p.show(filepath.Clean(root))
	}
}

// layers are the caches, with what is written to them in a layer of the project's own.
func (p *plan) layers() {
	for _, c := range tools.Caches() {
		dir := c.At(p.s.env, p.s.home)
		if dir == "" || paths.Overlap(dir, p.s.project) || paths.Overlap(dir, p.s.dirs.state) {
			continue
		}
		upper, work := p.slot.layer(c.Name)
		m := jail.Mount{Op: jail.Overlay, Source: dir, Target: dir, Upper: upper, Work: work}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			if !c.Common {
				continue
			}
			m = jail.Mount{Op: jail.Bind, Source: upper, Target: dir}
		} else if !p.s.report.Layers {
			p.show(dir)
			continue
		}
		p.add(m)
		p.write = append(p.write, dir)
	}
}

// granted are the paths of the grant beyond the project.
func (p *plan) granted() {
	for _, path := range p.g.Read {
		p.show(path)
	}
	for _, path := range p.g.Write {
		p.add(jail.Mount{Op: jail.Bind, Source: path, Target: path})
		p.write = append(p.write, path)
		p.fence(path)
	}
}

// fence keeps a directory that can be changed from being changed where that runs code outside later.
func (p *plan) fence(dir string) {
	for _, f := range p.fences {
		if _, in := paths.Below(dir, f.Path); in {
			p.add(jail.Mount{Op: jail.Again, Target: f.Path, ReadOnly: f.ReadOnly, Number: f.Number})
		}
	}
}

// projectDir is the project, or the part of it that may be changed, without what runs code outside later.
func (p *plan) projectDir() {
	root := p.s.project
	if around := p.s.repository(); around != "" && p.g.Below == "" {
		p.show(around)
	}
	open, show := root, jail.Mount{Op: jail.Bind, Source: root, Target: root, ReadOnly: p.g.ReadOnly}
	if rel, in := paths.Below(root, p.g.Below); in && rel != "." {
		open = p.g.Below
		show.Source, show.Within, show.Target = rel, root, open
	}
	p.add(show)
	if p.g.ReadOnly {
		return
	}
	p.write = append(p.write, open)
	p.fence(open)
}

// hide covers what no process may see, wherever it lies.
func (p *plan) hide() {
	for _, path := range slices.Concat(p.s.hidden, p.s.machine.secrets) {
		if _, err := os.Lstat(path); err == nil {
			p.add(jail.Mount{Op: jail.Hide, Target: path, Optional: true})
		}
	}
}

// repository returns the directory of a repository that the project is a part of, if it lies around the project and is not the home
// directory or above it. It can be read.
func (s *Sandbox) repository() string {
	if _, err := os.Lstat(filepath.Join(s.project, ".git")); err == nil {
		return ""
	}
	for dir := filepath.Dir(s.project); dir != "/" && dir != s.home; dir = filepath.Dir(dir) {
		if _, around := paths.Below(dir, s.home); around {
			return ""
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		} else if !errors.Is(err, fs.ErrNotExist) {
			return ""
		}
	}
	return ""
}

// reduced returns the confinement of a process at the level Reduced.
func (s *Sandbox) reduced(g Grant, slot *slot) (*jail.Spec, error) {
	// It cannot be said which hosts; whoever granted one was told.
	filter, err := filter(sockets{internet: len(g.Hosts) > 0, unix: g.UnixSockets})
	if err != nil {
		return nil, err
	}
	spec := &jail.Spec{Filter: filter, Limits: s.rlimits(), Read: slices.Concat(tools.System(), tools.Devices(), []string{"/proc"})}
	spec.Write = append([]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/tty", s.dirs.temp, "/proc/self"}, g.Write...)
	open := s.project
	if g.Below != "" {
		open = g.Below
	}
	spec.Read = append(spec.Read, open)
	if !g.ReadOnly {
		spec.Write = append(spec.Write, open)
	}
	for _, c := range tools.Caches() {
		if dir := c.At(s.env, s.home); dir != "" {
			spec.Read = append(spec.Read, dir)
		}
		upper, _ := slot.layer(c.Name)
		spec.Write = append(spec.Write, upper)
	}
	for _, rel := range tools.Home() {
		if path := filepath.Join(s.home, filepath.FromSlash(rel)); !tools.Secretive(path) {
			spec.Read = append(spec.Read, path)
		}
	}
	spec.Read = append(spec.Read, tools.Programs(s.env["PATH"], s.home, s.project, s.dirs.state)...)
	spec.Read = slices.Concat(spec.Read, g.Read, spec.Write)
	// A rule opens all that is below it, so what is secret cannot be taken out of a directory that is open: such a directory is not.
	spec.Read = slices.DeleteFunc(spec.Read, func(p string) bool {
		return slices.ContainsFunc(s.hidden, func(h string) bool { _, in := paths.Below(p, h); return in })
	})
	spec.Read = append(spec.Read, s.readable...)
	return spec, nil
}

// reducedEnvironment moves what is temporary, and the caches that have variables, to directories that can be written to.
func (s *Sandbox) reducedEnvironment(slot *slot) []string {
	out := []string{"TMPDIR=" + s.dirs.temp, "GOTMPDIR=" + s.dirs.temp}
	for _, c := range tools.Caches() {
		if c.Variable != "" && c.Name != "go-mod" {
			upper, _ := slot.layer(c.Name)
			out = append(out, c.Variable+"="+upper)
		}
	}
	return out
}

// paths returns what a process with the grant can change and read, for people.
func (s *Sandbox) paths(g Grant, slot *slot, fences []guard.Fence) (writable, readable []string) {
	if s.report.Level == Full {
		spec, err := s.full(g, slot, fences)
		if err != nil {
			return nil, nil
		}
		for _, m := range spec.Mounts {
			switch {
			case m.Op == jail.Bind && m.ReadOnly:
				readable = append(readable, m.Target)
			case m.Op == jail.Overlay:
				writable = append(writable, m.Target+" (in a layer of this project's own)")
			case m.Op == jail.Bind && !strings.HasPrefix(m.Target, "/dev/"):
				writable = append(writable, m.Target)
			}
		}
		return writable, there(readable)
	}
	spec, err := s.reduced(g, slot)
	if err != nil {
		return nil, nil
	}
	return there(spec.Write), there(spec.Read)
}
