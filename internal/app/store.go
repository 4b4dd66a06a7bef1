package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/grapnel-go/grapnel/internal/redact"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// Store has the conversations of the program. The caller closes it.
type Store interface {
	redact.Full
	io.Closer
}

// maskedStore is a store that masks, and closes what it stands before.
type maskedStore struct {
	*redact.Store
	io.Closer
}

// openStore opens the conversations, behind r if it is not nil. The second result is the database itself, nil for a file.
func openStore(ctx context.Context, p Paths, r *redact.Redactor, note func(string)) (s Store, db *postgres.Store, err error) {
	if p.Database != "" {
		if db, err = postgres.Open(ctx, p.Database, nil); err == nil {
			s = db
		}
	} else {
		s, err = sqlite.Open(ctx, p.Conversations, &sqlite.Options{Note: note})
	}
	if err != nil {
		return nil, nil, err
	}
	return masked(s, r), db, nil
}

// masked is the store behind r, if that is not nil.
func masked(s Store, r *redact.Redactor) Store {
	if r == nil {
		return s
	}
	return maskedStore{r.Store(s), s}
}

// Whole has the conversations as they are stored, for copies and checks. The caller closes it.
type Whole interface {
	Store
	store.Copier
}

// OpenWhole opens the conversations with no redactor before them, and makes the file if there is none.
// between says who else uses a database; it is nil for a file.
func OpenWhole(ctx context.Context, p Paths, note func(string)) (all Whole, between store.Presence, err error) {
	if p.Database == "" {
		s, err := sqlite.Open(ctx, p.Conversations, &sqlite.Options{Note: note})
		return s, nil, err
	}
	s, err := postgres.Open(ctx, p.Database, nil)
	return s, s, err
}

// openStore opens the store, and joins the others that share it. The program of an owner has its part of the user's database.
func (a *App) openStore(ctx context.Context, o Options) (err error) {
	var s Store
	var db *postgres.Store
	if o.Of != nil && o.Of.nodes != nil {
		db = o.Of.nodes.db.Tenant(o.Paths.Project())
		s = masked(db, a.redact)
	} else if s, db, err = openStore(ctx, o.Paths, a.redact, o.Note); err != nil {
		return err
	}
	if db != nil {
		if err := a.share(ctx, o, db); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	a.Store = s
	return nil
}

// share makes the process one of several over the database.
func (a *App) share(ctx context.Context, o Options, db *postgres.Store) (err error) {
	if a.nodes, err = join(ctx, o, a.presence.owner, db); err != nil || o.Node.Deliver == nil {
		return err
	}
	a.nodes.engine, err = o.Node.Deliver(ctx, SharedJobs{Store: db, TTL: a.nodes.Self().TTL, Mask: maskText(a.redact), Tenant: o.Of != nil})
	if err != nil {
		a.nodes.leave()
	}
	return err
}

// closeStore says that the process ends, and closes the store.
func (a *App) closeStore() error {
	a.nodes.leave()
	return errors.Join(a.Store.Close(), a.presence.end())
}

// OpenConversations opens the conversations only, for reading. It is an error if there is no
// database. note gets a sentence about each damage. The caller closes the store.
func OpenConversations(ctx context.Context, p Paths, note func(string)) (Store, error) {
	if _, err := os.Stat(p.Conversations); p.Database == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no conversations are stored in %s yet; set GRAPNEL_HOME if they are elsewhere", p.State)
	}
	r, err := p.Redactor()
	if err != nil {
		return nil, err
	}
	s, _, err := openStore(ctx, p, r, note)
	return s, err
}
