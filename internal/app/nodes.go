package app

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/internal/nodes"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
)

// Node is how this process is one of several over a database. A process with files of its own has none.
type Node struct {
	// URL is where the others reach it; "" is nowhere: then it runs only what it is told itself.
	URL string
	// TTL is how long it counts as alive after a beat, and Beat the time between two; 0 is that of package nodes.
	TTL, Beat time.Duration
	// Deliver opens what delivers the jobs of the database, for runtime.JobOptions.Engine; nil is the runner of the runtime.
	Deliver func(ctx context.Context, j SharedJobs) (func(*runtime.JobWork) runtime.JobEngine, error)
}

// SharedJobs are the jobs of a database that several processes share.
type SharedJobs struct {
	// Store has them. It stays open until the engine is closed.
	Store *postgres.Store
	// TTL is that of this process's node.
	TTL time.Duration
	// Mask masks a text for the database; nil masks nothing.
	Mask func(string) string
	// Tenant: Store is the part of an owner, and this process delivers the jobs of its own user too.
	Tenant bool
}

// version is that of the program, for people; "" if it does not know it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return ""
}

// membership is the place of this process among those that share its database.
type membership struct {
	*nodes.Members
	db *postgres.Store
	// Wakes are those of the daemon's user, too: one connection listens for all owners.
	Wakes   *nodes.Wakes
	runtime atomic.Pointer[runtime.Runtime]
	died    atomic.Pointer[func()]
	// engine is that of Node.Deliver; nil is the runner of the runtime.
	engine func(*runtime.JobWork) runtime.JobEngine
	// background ends when stop is called.
	background context.Context
	stop       context.CancelFunc
	running    sync.WaitGroup
}

// began is about when this process did.
var began = time.Now()

// join makes the process a node, which beats until leave.
func join(ctx context.Context, o Options, owner string, s *postgres.Store) (*membership, error) {
	m, n := &membership{db: s, Wakes: new(nodes.Wakes)}, o.Node
	m.Members = nodes.New(nodes.Options{
		Presence: s, Node: store.Node{ID: owner, URL: n.URL, Version: version(), TTL: n.TTL}, Beat: n.Beat, Phase: time.Duration(began.UnixNano()), Log: o.Note,
		Lost: func() {
			if r := m.runtime.Load(); r != nil {
				r.LoseLeases()
			}
		},
		Late: func(ctx context.Context) {
			if r := m.runtime.Load(); r != nil {
				r.CheckLeases(ctx)
			}
		},
		Died: func(store.Node) {
			if r := m.runtime.Load(); r != nil {
				r.WakeJobs()
			}
			if f := m.died.Load(); f != nil {
				(*f)()
			}
		},
	})
	if err := m.Join(ctx); err != nil {
		return nil, err
	}
	m.background, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	m.running.Go(func() { m.Run(m.background) })
	if o.Of != nil && o.Of.nodes != nil {
		m.Wakes = o.Of.nodes.Wakes
	} else {
		m.running.Go(func() { _ = m.Wakes.Run(m.background, s) }) // readers also look now and then
	}
	return m, nil
}

// joined tells the membership which runtime it is about, and the other nodes what agents see here.
func (a *App) joined() {
	if a.nodes == nil {
		return
	}
	a.nodes.runtime.Store(a.Runtime)
	if a.nodes.Self().URL != "" {
		a.nodes.running.Go(a.describe)
	}
}

// describeEvery is the time between two looks at the files that agents see.
const describeEvery = 30 * time.Second

// describe tells the other nodes what agents see here, again and again: instruction files change, and so do agents when they are reloaded.
func (a *App) describe() {
	m, at := a.nodes, store.NodeProject{ID: a.paths.Project(), Root: a.paths.Root}
	look := time.NewTicker(describeEvery)
	defer look.Stop()
	for {
		at.Fingerprint = a.Fingerprint()
		m.Describe([]store.NodeProject{at})
		select {
		case <-look.C:
		case <-m.background.Done():
			return
		}
	}
}

// leave says that the process ends. Nil does nothing.
func (m *membership) leave() {
	if m == nil {
		return
	}
	m.stop()
	m.running.Wait()
}

// gone reports whether the process of that owner has ended.
func (a *App) gone(owner string) bool {
	if a.nodes == nil {
		return a.presence.gone(owner)
	}
	if !a.nodes.Dead(owner) {
		return false
	}
	a.presence.gone(owner) // removes its file, if it was of this machine
	return true
}

// Nodes are the processes that share the database with this one, and what tells of their writes; nil
// without such a database.
func (a *App) Nodes() (*nodes.Members, *nodes.Wakes) {
	if a.nodes == nil {
		return nil, nil
	}
	return a.nodes.Members, a.nodes.Wakes
}

// Unfinished returns the conversations with a turn that has not ended, of all projects.
func (a *App) Unfinished(ctx context.Context) ([]store.Record, error) {
	if a.nodes == nil {
		return a.Store.List(ctx)
	}
	return a.nodes.db.Unfinished(ctx)
}

// WhenNodesDie makes f be called when a process that shares the database has died. f must not block.
func (a *App) WhenNodesDie(f func()) {
	if a.nodes != nil {
		a.nodes.died.Store(&f)
	}
}
