package faults_test

import (
	"context"
	"errors"
	"sync"

	"github.com/grapnel-go/grapnel/runtime/store"
)

var errDisk = errors.New("the disk is full")

// keeper is what the stores of these tests have.
type keeper interface {
	store.Store
	store.Child
	store.Log
}

// write is one write to a store: one of the three is set.
type write struct {
	claim *store.Claim
	add   *store.Append
	note  *store.Note
}

// prolongs reports whether the write only makes a lease longer.
func (w write) prolongs() bool {
	return w.note != nil && len(w.note.Entries) == 0 && len(w.note.Events) == 0 && w.note.Hold > 0
}

// gated is a store whose writes are asked about before they are made, one at a time.
type gated struct {
	keeper
	mu sync.Mutex
	// before may refuse a write, and wrote is told of those that were made; each may
	// be nil.
	before func(write) error
	wrote  func(write)
}

func (g *gated) do(w write, make func() error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.before != nil {
		if err := g.before(w); err != nil {
			return err
		}
	}
	err := make()
	if err == nil && g.wrote != nil {
		g.wrote(w)
	}
	return err
}

func (g *gated) Claim(ctx context.Context, id string, c store.Claim) (rec store.Record, err error) {
	err = g.do(write{claim: &c}, func() error { rec, err = g.keeper.Claim(ctx, id, c); return err })
	return rec, err
}

func (g *gated) Append(ctx context.Context, id string, a store.Append) (version int64, err error) {
	err = g.do(write{add: &a}, func() error { version, err = g.keeper.Append(ctx, id, a); return err })
	return version, err
}

func (g *gated) Note(ctx context.Context, id string, n store.Note) (first int64, err error) {
	err = g.do(write{note: &n}, func() error { first, err = g.keeper.Note(ctx, id, n); return err })
	return first, err
}
