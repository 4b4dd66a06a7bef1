package api_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/nodes/internode"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// TestTenantsOfNodes: the tenant of an owner is a node of its own on each daemon, behind the daemon's way for nodes. What alice does at
// one daemon reaches her turn at the other one, and nobody else's requests do.
func TestTenantsOfNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	// daemon joins a daemon with a tenant of alice's, and returns both, and what makes tokens at its door.
	daemon := func(id string) (own, alices *member, tokens *access.Tokens, url string) {
		o := memberOptions{wait: time.Minute}
		tokens, url = door(t, &o)
		o.world.api.Tenants = &api.Tenants{Server: func(context.Context, string) (*api.Server, func(), error) { return alices.server, func() {}, nil }}
		own = c.join(id, o)
		alices = c.join(id+"-alice", memberOptions{project: "alice:/p", url: own.members.Self().URL, world: worldOptions{api: api.Options{Tenants: &api.Tenants{Owner: "alice"}}}})
		return own, alices, tokens, url
	}
	a, aliceA, _, _ := daemon("a")
	b, aliceB, tokens, url := daemon("b")
	settle(t, a, aliceA, b, aliceB)
	as := func(name, owner string) *client.Client {
		text, err := tokens.Create(access.Token{Name: name, Owner: owner, Scopes: access.All(), Projects: []string{"/p"}})
		require.NoError(t, err)
		return client.New(url, &client.Options{Token: text, Retries: -1})
	}
	ctx, alice, user := t.Context(), as("alice", "alice"), as("user", "")
	made, err := alice.Conversation(ctx, "helper", "ann")
	require.NoError(t, err)
	conv := made.ID
	agent, err := aliceA.rt.Agent("helper")
	require.NoError(t, err)
	there, err := agent.Conversation(ctx, "ann")
	require.NoError(t, err)
	_, err = there.Start(ctx, message.TextInput(`call danger {"s":"x"}`), nil)
	require.NoError(t, err)
	var asks []wire.Ask
	require.Eventually(t, func() bool {
		asks, err = alice.Asks(ctx, "")
		return err == nil && len(asks) == 1
	}, time.Minute, 10*time.Millisecond)
	theirs, err := user.Asks(ctx, "")
	require.NoError(t, err)
	assert.Empty(t, theirs)
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(errOf(user.ConversationByID(ctx, conv))))
	shown, err := alice.ConversationByID(ctx, conv)
	require.NoError(t, err)
	assert.NotEmpty(t, shown.Turn)
	require.NoError(t, alice.Answer(ctx, asks[0].ID, wire.Answer{Answer: wire.AnswerApprove}))
	idle(t, aliceA)
	assert.Equal(t, []string{"x"}, aliceA.box.ran)

	for _, id := range []string{"command", "tenant-that-opens"} { // they have said of no project yet that they have it
		require.NoError(t, c.store.Beat(ctx, store.Node{ID: id, URL: "https://" + id, Version: "1", TTL: time.Minute}))
	}
	require.NoError(t, aliceB.members.Refresh(ctx))
	require.NoError(t, b.members.Refresh(ctx))
	ids := func(c *client.Client) (out []string) {
		listed, err := c.Nodes(ctx)
		require.NoError(t, err)
		for _, n := range listed {
			out = append(out, n.ID)
		}
		return out
	}
	assert.Equal(t, []string{"a", "b"}, ids(user))
	assert.Equal(t, []string{"a-alice", "b-alice"}, ids(alice))

	t.Log("a request that is meant for another node than the one that answers")
	through := internode.New(nil)
	defer through.Close()
	meant := a.members.Self()
	_, err = through.Do(ctx, meant, internode.Caller{Name: "x", Owner: "alice", Scopes: []string{"read"}}, internode.Request{Path: "/v1/asks"})
	require.ErrorIs(t, err, internode.ErrMisdirected, "it is alice's, and the daemon's own tenant is meant")
	meant.ID = aliceA.id
	resp, err := through.Do(ctx, meant, internode.Caller{Name: "x", Owner: "alice", Scopes: []string{"read"}}, internode.Request{Path: "/v1/asks"})
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, http.StatusOK, resp.StatusCode)
}
