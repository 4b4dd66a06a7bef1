package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/grapnel-go/grapnel/internal/supervisor"
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

// look looks through what a process with the grant can change, which begins now. Call end or close afterwards.
func (s *Sandbox) look(g Grant) (*watched, error) {
	w := &watched{}
	before, err := s.guard.Begin()
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
	before, err := g.Begin()
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

// seen is what is kept of a place while a process runs.
type seen struct {
	// Helper is the process that ends all commands of the program.
	Helper supervisor.Helper
	Places []seenPlace
}

type seenPlace struct {
	Dir    []byte // nil is the project
	Before *guard.View
}

// keep writes down what was there, for the next program that looks if this one is killed.
func (w *watched) keep(s *slot, h supervisor.Helper) error {
	all := seen{Helper: h}
	for _, p := range w.places {
		all.Places = append(all.Places, seenPlace{[]byte(p.dir), p.before})
	}
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	s.kept = true
	if err := os.WriteFile(s.seen()+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(s.seen()+".new", s.seen())
}

// maxSeen bounds what is read of that.
const maxSeen = 64 << 20

func readSeen(file string) (all seen) {
	f, err := os.Open(file)
	if err != nil {
		return seen{}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSeen))
	if err != nil || json.Unmarshal(data, &all) != nil {
		return seen{}
	}
	all.Places = slices.DeleteFunc(all.Places, func(s seenPlace) bool { return s.Before == nil })
	return all
}

// dying is how long the commands of a program that was killed may take to end.
const dying = 10 * time.Second

// recover does for all programs that were killed what they have not done.
func (s *Sandbox) recover() {
	files, _ := filepath.Glob(filepath.Join(s.dirs.layers, "*", seenFile))
	for _, file := range files {
		dir := filepath.Dir(file)
		slot := &slot{dir: dir, lock: flock.New(filepath.Join(dir, "lock"))}
		if free, err := slot.lock.TryLock(); err != nil || !free {
			continue // its program lives
		}
		s.finish(slot)
		slot.free()
	}
}

// finish moves away what has appeared since a command began whose program was killed. Nobody knows who has made it, so the person is told.
func (s *Sandbox) finish(slot *slot) {
	all := readSeen(slot.seen())
	if len(all.Places) > 0 {
		all.Helper.Wait(dying)
	}
	for _, p := range all.Places {
		w := &watched{}
		if len(p.Dir) == 0 {
			w.places = []place{{"", s.guard, nil}}
		} else if err := w.add(s, string(p.Dir)); err != nil || len(w.places) == 0 {
			continue
		}
		w.places[0].before = p.Before
		s.tell(w.end())
	}
	_ = os.Remove(slot.seen())
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
		p.guard.Leave(p.before)
		if p.dir != "" {
			_ = p.guard.Close()
		}
	}
}
