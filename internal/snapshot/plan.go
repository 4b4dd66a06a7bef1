package snapshot

import (
	"context"
	"path"
	"slices"
	"strings"
)

// Change is a path that differs between two snapshots.
type Change struct {
	// Path is relative to the project, with slashes, in any bytes.
	Path string
	// What is Created, Changed or Removed.
	What What
}

// What is how a path differs.
type What string

// How a path of the later snapshot differs from the earlier one.
const (
	Created What = "created"
	Changed What = "changed"
	Removed What = "removed"
)

// Changes returns what changed between two snapshots, sorted by path; not what either of them left out. Its error wraps
// [ErrNoSnapshot].
func (s *Store) Changes(ctx context.Context, before, after ID) (out []Change, err error) {
	err = s.exclusive(ctx, func() error {
		b, err := s.load(before)
		if err != nil {
			return err
		}
		a, err := s.load(after)
		if err != nil {
			return err
		}
		for _, p := range changed(b, a) {
			c := Change{Path: p, What: Changed}
			switch {
			case b.at(p) == nil:
				c.What = Created
			case a.at(p) == nil:
				c.What = Removed
			}
			out = append(out, c)
		}
		return nil
	})
	return out, err
}

// changed returns the paths that differ between two snapshots and that both of them know, sorted.
func changed(b, a *manifest) (out []string) {
	if b == a {
		return nil
	}
	add := func(p string) {
		if !b.unknown(p) && !a.unknown(p) {
			out = append(out, p)
		}
	}
	for i := range b.Entries {
		if e := &b.Entries[i]; !same(e, a.at(e.Path)) {
			add(e.Path)
		}
	}
	for i := range a.Entries {
		if p := a.Entries[i].Path; b.at(p) == nil {
			add(p)
		}
	}
	slices.Sort(out)
	return out
}

// Pair is a span of time whose changes are undone.
type Pair struct {
	Before, After ID
	// Except maps paths to reasons: they are conflicts, whatever their state. Nil has none.
	Except map[string]string
}

// Conflict is a path that Restore leaves as it is.
type Conflict struct {
	Path string
	// Why is the reason, as words for people.
	Why string
}

// Result is what Restore did, or what it would do. Each list is sorted by path.
type Result struct {
	// Restored are the paths that are as they were before: put back or changed.
	Restored []string
	// Removed are the paths that were created and are gone.
	Removed   []string
	Conflicts []Conflict
	// Lost were left out of the snapshot before, and were removed or got another size within the pair: Restore has no copy.
	Lost []LeftOut
}

// Reasons of conflicts.
const (
	whyLater  = "it changed after that"
	whyNotDir = "the directory that it was in is gone or another"
	whyFull   = "it holds something that came from elsewhere"
	whyUnread = "it is left out of the present snapshot"
)

// plan is the state that Restore brings a project to.
type plan struct {
	now     *manifest
	pairs   []Pair
	resumed bool              // an interrupted Restore of the same pairs goes on
	to      map[string]*entry // only paths that Restore looks at; nil: nothing is there
	why     map[string]string // of conflicts
	lost    []LeftOut
}

// Preview returns what Restore would do, and changes nothing.
func (s *Store) Preview(ctx context.Context, now ID, pairs ...Pair) (r Result, err error) {
	err = s.exclusive(ctx, func() error {
		p, err := s.plan(now, pairs)
		if err == nil {
			r = p.result()
		}
		return err
	})
	return r, err
}

// plan works pairs back, in their order.
func (s *Store) plan(now ID, pairs []Pair) (*plan, error) {
	p := &plan{pairs: pairs, to: map[string]*entry{}, why: map[string]string{}}
	var err error
	if p.now, err = s.load(now); err != nil {
		return nil, err
	}
	if p.resumed, err = s.resumes(pairs); err != nil {
		return nil, err
	}
	for _, pair := range pairs {
		b, err := s.load(pair.Before)
		if err != nil {
			return nil, err
		}
		a, err := s.load(pair.After)
		if err != nil {
			return nil, err
		}
		p.undo(b, a, pair.Except)
	}
	p.parents()
	p.full()
	return p, nil
}

// state is what is at a path as far as the plan goes.
func (p *plan) state(name string) *entry {
	if e, ok := p.to[name]; ok {
		return e
	}
	return p.now.at(name)
}

// undo takes back what changed from b to a.
func (p *plan) undo(b, a *manifest, except map[string]string) {
	for _, name := range changed(b, a) {
		was, is, made := b.at(name), p.state(name), a.at(name)
		switch {
		case p.now.unknown(name):
			p.why[name] = whyUnread
		case p.why[name] != "":
		case except[name] != "":
			p.why[name] = except[name]
		case was == nil && keepsObjects(b, name):
		case same(is, made), same(is, was), p.resumed && halfway(was, is, made):
			p.to[name] = was
		default:
			p.why[name] = whyLater
		}
	}
	for _, l := range b.LeftOut {
		if later := a.left(l.Path); later != nil && (l.Over || l.Bytes == later.Bytes) || a.unknown(l.Path) && later == nil {
			continue // whoever changed it did so later
		}
		if !slices.ContainsFunc(p.lost, func(o LeftOut) bool { return o.Path == l.Path }) {
			p.lost = append(p.lost, l.LeftOut)
		}
	}
}

// keepsObjects reports whether a path is among the objects of a git repository that was there before.
func keepsObjects(b *manifest, name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if path.Base(dir) == "objects" && path.Base(path.Dir(dir)) == ".git" && b.at(dir) != nil {
			return true
		}
	}
	return false
}

// halfway reports whether a state is one that an interrupted Restore leaves: a directory without its mode, or nothing, where
// something of another kind has to be.
func halfway(was, is, made *entry) bool {
	if is == nil {
		return was != nil && made != nil && was.Kind != made.Kind
	}
	return was != nil && is.Kind == directory && was.Kind == directory
}

// conflict leaves a path as it is.
func (p *plan) conflict(name, why string) {
	p.to[name] = p.now.at(name)
	p.why[name] = why
}

func (p *plan) paths() []string {
	out := make([]string, 0, len(p.to))
	for name := range p.to {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// parents makes conflicts of what would have no directory to be in.
func (p *plan) parents() {
	for _, name := range p.paths() {
		if p.to[name] == nil || same(p.to[name], p.now.at(name)) {
			continue
		}
		if dir := path.Dir(name); dir != "." {
			if d := p.state(dir); d == nil || d.Kind != directory {
				p.conflict(name, whyNotDir)
			}
		}
	}
}

// full makes conflicts of directories that would go although something stays in them.
func (p *plan) full() {
	holds := map[string]bool{}
	hold := func(name string) {
		for dir := path.Dir(name); dir != "." && !holds[dir]; dir = path.Dir(dir) {
			holds[dir] = true
		}
	}
	for i := range p.now.Entries {
		if name := p.now.Entries[i].Path; p.state(name) != nil {
			hold(name)
		}
	}
	for _, l := range p.now.LeftOut {
		holds[l.Path] = true // a directory that is left out is not empty
		hold(l.Path)
	}
	names := p.paths()
	for _, name := range slices.Backward(names) {
		is, to := p.now.at(name), p.to[name]
		if is != nil && is.Kind == directory && (to == nil || to.Kind != directory) && holds[name] {
			p.conflict(name, whyFull)
			hold(name)
		}
	}
}

func (p *plan) result() (r Result) {
	for _, name := range p.paths() {
		switch {
		case p.why[name] != "" || same(p.to[name], p.now.at(name)):
		case p.to[name] == nil:
			r.Removed = append(r.Removed, name)
		default:
			r.Restored = append(r.Restored, name)
		}
	}
	for name, why := range p.why {
		r.Conflicts = append(r.Conflicts, Conflict{name, why})
	}
	slices.SortFunc(r.Conflicts, func(a, b Conflict) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(p.lost, func(a, b LeftOut) int { return strings.Compare(a.Path, b.Path) })
	r.Lost = p.lost
	return r
}
