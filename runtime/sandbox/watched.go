package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/guard"
)

// watched are the directories that a process can change, with what runs code from them later: the project, and what was granted.
type watched struct {
	places []place
}

type place struct {
	dir    string // "" is the project
	guard  *guard.Guard
	before *guard.View
}

// look looks through what a process with the grant can change. Call end or close afterwards.
func (s *Sandbox) look(g Grant) (*watched, error) {
	w := &watched{}
	before, err := s.guard.Look()
	if err != nil {
		return nil, fmt.Errorf("look through the project: %w", err)
	}
	w.places = append(w.places, place{"", s.guard, before})
	for _, dir := range g.Write {
		if err := w.add(s, dir); err != nil {
			w.close()
			return nil, fmt.Errorf("look through %s: %w", dir, err)
		}
	}
	return w, nil
}

func (w *watched) add(s *Sandbox, dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	g, err := guard.New(guard.Options{Project: dir, Home: s.home, State: s.dirs.state, Quarantine: s.dirs.quarantine, Once: true})
	if err != nil {
		return err
	}
	before, err := g.Look()
	if err != nil {
		return errors.Join(err, g.Close())
	}
	w.places = append(w.places, place{dir, g, before})
	return nil
}

// fences returns what the process cannot change, outer paths first.
func (w *watched) fences() (out []guard.Fence) {
	for _, p := range w.places {
		out = append(out, p.guard.Fences(p.before)...)
	}
	return out
}

// end moves away what has appeared, and returns it. It lets go of the places.
func (w *watched) end() (moved []Moved) {
	for _, p := range w.places {
		for _, m := range p.guard.Clean(p.before) {
			if p.dir != "" {
				m.Path = filepath.Join(p.dir, m.Path)
			}
			moved = append(moved, m)
		}
	}
	w.close()
	return moved
}

func (w *watched) close() {
	for _, p := range w.places {
		if p.dir != "" {
			_ = p.guard.Close()
		}
	}
}
