package dispatch

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/nodes"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// TestWhoAnswers: the tables of place and takes, as node a sees them. Node b has the project, too.
func TestWhoAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		where Where
		// owner had the lease last, or has it; lacks: a does not have the project.
		owner       string
		held, lacks bool
		// want is the node that a chooses; takes says whether a answers what another node sends here, and late the same
		// while a begins nothing new.
		want        string
		takes, late bool
	}{
		{"held here", Held, "a", true, false, "a", true, true},
		{"held there", Held, "b", true, false, "b", false, false},
		{"free, was there", Held, "b", false, false, "a", true, false},
		{"free, and the project is there alone", Held, "", false, true, "b", false, false},
		{"stored, held there", Stored, "b", true, false, "a", true, true},
		{"stored, held there, and the project is there alone", Stored, "b", true, true, "b", false, false},
		{"stored, free", Stored, "", false, false, "a", true, true},
		{"stored, free, and the project is there alone", Stored, "", false, true, "b", false, false},
		{"last, held here", Last, "a", true, false, "a", true, true},
		{"last, held there", Last, "b", true, false, "b", false, false},
		{"last was there", Last, "b", false, false, "b", true, true},
		{"last was here", Last, "a", false, false, "a", true, true},
		{"last has died", Last, "dead", false, false, "a", true, true},
		{"last has died, and the project is there alone", Last, "dead", false, true, "b", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, has := mem.New(nil), []store.NodeProject{{ID: "/p"}}
			require.NoError(t, s.Beat(t.Context(), store.Node{ID: "b", URL: "unix:/b", TTL: time.Hour, Projects: has}))
			if c.lacks {
				has = nil
			}
			m := nodes.New(nodes.Options{Presence: s, Node: store.Node{ID: "a", TTL: time.Hour, Projects: has}})
			require.NoError(t, m.Join(t.Context()))
			rec := store.Record{ID: "c", Key: store.Key{Project: "/p"}, Lease: store.Lease{Owner: c.owner}}
			if c.held {
				rec.Lease.Until = time.Now().Add(time.Hour)
			}
			d := New(Options{Members: m})
			got := d.place(rec, c.where, nil)
			if got.Here {
				got.Node.ID = "a"
			}
			assert.Equal(t, c.want, got.Node.ID)
			assert.Equal(t, c.takes, d.takes(rec, c.where, false), "takes")
			assert.Equal(t, c.late, d.takes(rec, c.where, true), "late")
		})
	}
}

// flickering is a store whose second node comes and goes.
type flickering struct{ reads atomic.Int64 }

func (*flickering) Beat(context.Context, store.Node) error { return nil }
func (*flickering) Leave(context.Context, string) error    { return nil }
func (f *flickering) Nodes(context.Context) ([]store.Node, error) {
	all := []store.Node{{ID: "b", URL: "unix:/b", Alive: true}, {ID: "z", URL: "unix:/z", Alive: true}}
	return all[:1+f.reads.Add(1)%2], nil
}

// TestANodeThatComesAndGoes: where a request goes is decided by one look at the nodes. With two, this fell over at once.
func TestANodeThatComesAndGoes(t *testing.T) {
	t.Parallel()
	f := new(flickering)
	m := nodes.New(nodes.Options{Presence: f, Node: store.Node{ID: "a", TTL: time.Hour}})
	require.NoError(t, m.Join(t.Context()))
	d := New(Options{Members: m})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_ = m.Refresh(ctx)
		}
	}()
	last := store.Record{ID: "c", Lease: store.Lease{Owner: "z"}}
	seen := map[string]int{}
	for f.reads.Load() < 50_000 {
		seen[d.place(last, Last, nil).Node.ID]++
	}
	stop()
	<-done
	assert.Zero(t, seen["b"], "it never had the conversation")
	assert.NotZero(t, seen["z"]+seen[""])
}
