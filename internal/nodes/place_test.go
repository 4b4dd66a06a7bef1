package nodes_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/nodes"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// has is a project of a node in a test.
func has(id, fingerprint string) store.NodeProject {
	return store.NodeProject{ID: id, Root: id, Fingerprint: fingerprint}
}

// TestPlace: where a conversation of /p runs, as node a sees it.
func TestPlace(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(time.Hour)
	for _, c := range []struct {
		name string
		// own are a's projects, b and c those of the others; dead nodes are named.
		own, b, c []store.NodeProject
		dead      []string
		owner     string
		held      bool
		except    []string
		want      nodes.Place
	}{
		{name: "nobody had it", own: []store.NodeProject{has("/p", "1")}, b: []store.NodeProject{has("/p", "1")}, want: nodes.Place{Here: true}},
		{name: "another holds it", own: []store.NodeProject{has("/p", "1")}, b: []store.NodeProject{has("/p", "1")}, owner: "b", held: true, want: at("b", true)},
		{name: "another holds it and is left out", own: []store.NodeProject{has("/p", "1")}, owner: "b", held: true, except: []string{"b"}, want: at("b", true)},
		{name: "this one holds it", owner: "a", held: true, want: nodes.Place{Here: true, Held: true}},
		{name: "another had it", own: []store.NodeProject{has("/p", "1")}, b: []store.NodeProject{has("/p", "1")}, owner: "b", want: nodes.Place{Here: true}},
		{name: "another has the project", b: []store.NodeProject{has("/q", "1")}, c: []store.NodeProject{has("/p", "1")}, want: at("c", false)},
		{name: "nobody has the project", own: []store.NodeProject{has("/q", "1")}, want: nodes.Place{}},
		{name: "who has the project died", b: []store.NodeProject{has("/p", "1")}, dead: []string{"b"}, owner: "b", want: nodes.Place{}},
		{name: "the holder died and this one is alike", own: []store.NodeProject{has("/p", "1")}, b: []store.NodeProject{has("/p", "1")}, dead: []string{"b"}, owner: "b", want: nodes.Place{Here: true}},
		{name: "the holder died and only another is alike", own: []store.NodeProject{has("/p", "2")}, b: []store.NodeProject{has("/p", "1")}, c: []store.NodeProject{has("/p", "1")}, dead: []string{"b"}, owner: "b", want: at("c", false)},
		{name: "the holder died and nobody is alike", own: []store.NodeProject{has("/p", "2")}, b: []store.NodeProject{has("/p", "1")}, c: []store.NodeProject{has("/p", "3")}, dead: []string{"b"}, owner: "b", want: nodes.Place{Here: true}},
		{name: "the last holder lives and is not like this one", own: []store.NodeProject{has("/p", "2")}, b: []store.NodeProject{has("/p", "1")}, c: []store.NodeProject{has("/p", "1")}, owner: "b", want: at("b", false)},
		{name: "this one does not want it", own: []store.NodeProject{has("/p", "1")}, c: []store.NodeProject{has("/p", "1")}, except: []string{"a"}, want: at("c", false)},
		{name: "a command holds it", own: []store.NodeProject{has("/p", "1")}, owner: "command", held: true, want: nodes.Place{Here: true}},
		{name: "a command had it", b: []store.NodeProject{has("/p", "1")}, owner: "command", want: at("b", false)},
		{name: "a process that is no node holds it", own: []store.NodeProject{has("/p", "1")}, owner: "grapnel-1", held: true, want: nodes.Place{Here: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			now := time.Now()
			p := mem.New(&mem.Options{Now: func() time.Time { return now }})
			for _, n := range []store.Node{{ID: "b", URL: "unix:/b", Projects: c.b}, {ID: "c", URL: "unix:/c", Projects: c.c}, {ID: "command", Projects: []store.NodeProject{has("/p", "1")}}} {
				n.TTL = time.Hour
				if slices.Contains(c.dead, n.ID) {
					n.TTL = time.Second
				}
				require.NoError(t, p.Beat(t.Context(), n))
			}
			now = now.Add(time.Minute)
			m := nodes.New(nodes.Options{Presence: p, Node: store.Node{ID: "a", Projects: c.own}})
			require.NoError(t, m.Join(t.Context()))
			rec := store.Record{ID: "1", Key: store.Key{Project: "/p"}, Lease: store.Lease{Owner: c.owner}}
			if c.held {
				rec.Lease.Until = later
			}
			got := m.Place(rec, c.except...)
			got.Node = store.Node{ID: got.Node.ID}
			assert.Equal(t, c.want, got)
			assert.Equal(t, !c.want.Here && c.want.Node.ID == "", got.Nowhere())
		})
	}
}

func at(id string, held bool) nodes.Place { return nodes.Place{Held: held, Node: store.Node{ID: id}} }

// TestPlaceSpreads: all nodes without the project choose the same node of several, and not always the same one.
func TestPlaceSpreads(t *testing.T) {
	t.Parallel()
	p := mem.New(nil)
	for _, id := range []string{"x", "y"} {
		require.NoError(t, p.Beat(t.Context(), store.Node{ID: id, URL: "unix:/" + id, TTL: time.Hour, Projects: []store.NodeProject{has("/p", "1")}}))
	}
	chosen := map[string]int{}
	for i := range 64 {
		rec := store.Record{ID: string(rune('A' + i)), Key: store.Key{Project: "/p"}}
		var by [2]string
		for j, id := range []string{"a", "b"} {
			m := nodes.New(nodes.Options{Presence: p, Node: store.Node{ID: id}})
			require.NoError(t, m.Join(t.Context()))
			by[j] = m.Place(rec).Node.ID
		}
		assert.Equal(t, by[0], by[1])
		chosen[by[0]]++
	}
	assert.Greater(t, chosen["x"], 8)
	assert.Greater(t, chosen["y"], 8)
}

// TestHolderOfANewNode: a lease of a node that came a moment ago is found.
func TestHolderOfANewNode(t *testing.T) {
	t.Parallel()
	p := mem.New(nil)
	m := nodes.New(nodes.Options{Presence: p, Node: store.Node{ID: "a"}})
	require.NoError(t, m.Join(t.Context()))
	require.NoError(t, p.Beat(t.Context(), store.Node{ID: "new", URL: "unix:/new", TTL: time.Hour}))
	n, held := m.Holder(t.Context(), store.Record{Lease: store.Lease{Owner: "new", Until: time.Now()}})
	assert.True(t, held)
	assert.Equal(t, "new", n.ID)
	_, held = m.Holder(t.Context(), store.Record{Lease: store.Lease{Owner: "new"}})
	assert.False(t, held, "it is free")
}

// TestDifferentFiles: the operator is told once that two nodes of a project differ, and again when it is otherwise.
func TestDifferentFiles(t *testing.T) {
	t.Parallel()
	p := mem.New(nil)
	require.NoError(t, p.Beat(t.Context(), store.Node{ID: "b", TTL: time.Hour, Projects: []store.NodeProject{has("/p", "1")}}))
	a := join(t, p, store.Node{ID: "a", Projects: []store.NodeProject{has("/p", "2")}})
	assert.Equal(t, "the agents of the project /p differ on the node b (1 there, 2 here): give both the same files, then reload both; `grapnel nodes` lists them", a.log())
	require.NoError(t, a.Refresh(t.Context()))
	assert.Len(t, a.logs, 1)
	a.Describe([]store.NodeProject{has("/p", "1")})
	require.NoError(t, a.Refresh(t.Context()))
	a.Describe([]store.NodeProject{has("/p", "3")})
	require.NoError(t, a.Refresh(t.Context()))
	assert.Len(t, a.logs, 2)
}
