// Package transfer checks all that the program keeps, and copies it between the files of a state directory
// and a database. What lies only on the disk of a machine, such as the record of the audit, it does not
// know.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/tenant"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Place is where the program keeps everything. Close closes it.
type Place struct {
	paths app.Paths
	parts []part
	nodes store.Presence // nil: files
	close []func() error
}

// part is a store of its own: it is copied in one step.
type part struct {
	name string
	store.Copier
	// damaged returns a sentence for each damaged row.
	damaged func(ctx context.Context) ([]string, error)
}

// Open opens the database of the paths, or the files if they name none. If the place is to be filled it
// makes and upgrades tables; else it makes no file, and wants a database that was upgraded.
func Open(ctx context.Context, paths app.Paths, fill bool, note func(string)) (_ *Place, err error) {
	p := &Place{paths: paths}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if paths.Database != "" && !fill {
		if err := upgraded(ctx, paths.Database); err != nil {
			return nil, err
		}
	}
	stores, err := app.OpenStores(ctx, paths)
	if err != nil {
		return nil, err
	}
	p.close = append(p.close, func() error { stores.Close(); return nil })
	docs := documents{stores}
	p.parts = append(p.parts, part{documentsPart, docs, docs.damaged})
	for _, o := range []struct {
		name, file string
		open       func() (part, func() error, error)
	}{
		{"memories", paths.Memories, func() (part, func() error, error) {
			m, err := stores.Memories(ctx, note)
			if err != nil {
				return part{}, nil, err
			}
			return part{"", tables{m}, m.Damaged}, func() error { return m.OnClose(ctx) }, nil
		}},
		{"schedules", paths.Schedules, func() (part, func() error, error) {
			s, err := stores.Schedules(ctx, note)
			if err != nil {
				return part{}, nil, err
			}
			return part{"", tables{s}, s.Damaged}, func() error { return s.OnClose(ctx) }, nil
		}},
		{"conversations", paths.Conversations, func() (part, func() error, error) { return p.openConversations(ctx, note) }},
	} {
		opened := part{"", nothing{}, nothing{}.damaged}
		if _, err := os.Stat(o.file); paths.Database != "" || fill || !errors.Is(err, fs.ErrNotExist) {
			var end func() error
			if opened, end, err = o.open(); err != nil {
				return nil, err
			}
			p.close = append(p.close, end)
		}
		opened.name = o.name
		p.parts = append(p.parts, opened)
	}
	return p, nil
}

func (p *Place) openConversations(ctx context.Context, note func(string)) (part, func() error, error) {
	s, between, err := app.OpenWhole(ctx, p.paths, note)
	if err != nil {
		return part{}, nil, err
	}
	p.nodes = between
	return part{"", s, conversations{s}.damaged}, s.Close, nil
}

// nothing is a part without a file.
type nothing struct{}

// Rows implements store.Copier.
func (nothing) Rows(context.Context, func(store.Row) error) error { return nil }

// Load implements store.Copier.
func (nothing) Load(context.Context, func(context.Context, func(store.Row) error) error) error {
	return errors.New("there is no file")
}

func (nothing) damaged(context.Context) ([]string, error) { return nil, nil }

// Close closes the place.
func (p *Place) Close() error {
	var err error
	for _, f := range slices.Backward(p.close) {
		err = errors.Join(err, f())
	}
	p.close = nil
	return err
}

// String names the place for people, without the DSN.
func (p *Place) String() string {
	if p.paths.Database == "" {
		return "the files in " + p.paths.State
	}
	return "the database"
}

// idle returns an error if another process uses the place, or if owners have tenants in its files.
func (p *Place) idle(ctx context.Context) error {
	pids, err := p.paths.Processes()
	if err != nil {
		return err
	}
	if len(pids) > 0 {
		return fmt.Errorf("process %d runs agents in %s; stop it, and begin again: `grapnel serve` ends with its terminal or with SIGTERM", pids[0], p.paths.State)
	}
	if p.nodes == nil {
		owners, err := os.ReadDir(filepath.Join(p.paths.State, "owners"))
		if err == nil && len(owners) > 0 {
			return fmt.Errorf("%s has the tenants of owners (owners/%s), and those cannot be copied; conversations can: `grapnel conversations export`", p, owners[0].Name())
		}
		return nil
	}
	nodes, err := p.nodes.Nodes(ctx)
	if err != nil {
		return err
	}
	var live []string
	for _, n := range nodes {
		if n.Alive {
			live = append(live, n.ID)
		}
	}
	if len(live) > 0 {
		return fmt.Errorf("%s is in use by %s; stop all daemons, and begin again (one that was killed counts as alive for a few seconds)", p, strings.Join(live, ", "))
	}
	return nil
}

// errOwner: the files have no place for what is of an owner.
var errOwner = errors.New("it has rows of the tenants of owners, and those cannot be copied")

// projectAt is where the rows of tables have their project.
var projectAt = map[string]int{
	"conversation": 1, "job": 1, "hook_run": 0, "spent": 1, "reserved": 2,
	"space": 1, "schedule": 1, "agent": 0, "deletion": 0, "approval": 0,
}

// alone returns the rows of c, and errOwner at one of an owner.
func alone(c store.Copier) func(ctx context.Context, each func(store.Row) error) error {
	return func(ctx context.Context, each func(store.Row) error) error {
		return c.Rows(ctx, func(r store.Row) error {
			if at, has := projectAt[r.Table]; has {
				project, _ := r.Values[at].(string)
				if tenant.Parse(project).Owner != "" || project != "" && !filepath.IsAbs(project) {
					return fmt.Errorf("%w: %s of %q", errOwner, r.Table, project)
				}
			}
			return each(r)
		})
	}
}
