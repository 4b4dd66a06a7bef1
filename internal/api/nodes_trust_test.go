package api_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/nodes/internode"
	"github.com/grapnel-go/grapnel/internal/test/nodeca"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// nodeKeys returns keys of a node by an authority.
func nodeKeys(t *testing.T, a *nodeca.Authority) *access.NodeKeys {
	t.Helper()
	cert, key := a.Issue(t)
	k, err := access.LoadNodeKeys(cert, key, a.File, func(string) {})
	require.NoError(t, err)
	return k
}

// door gives a daemon of a test a door over TCP, and returns what makes its tokens, and its URL.
func door(t *testing.T, o *memberOptions) (tokens *access.Tokens, url string) {
	t.Helper()
	tokens = access.OpenTokens(filepath.Join(t.TempDir(), "tokens.json"))
	ln, d, err := access.Listen(t.Context(), "127.0.0.1:0", nil, nil, access.NewGate(tokens, "/p", func(string) {}))
	require.NoError(t, err)
	o.world.api.Doors = []api.Door{{Listener: ln, Door: d}}
	return tokens, d.URL
}

// TestNodesOverTLS: nodes of several machines, whose clients have tokens. What a token may do is checked where it is known, and counts on
// the other node as well; the token itself stays.
func TestNodesOverTLS(t *testing.T) {
	t.Parallel()
	ca := nodeca.New(t)
	c := newCluster(t)
	b := memberOptions{keys: nodeKeys(t, ca)}
	tokens, url := door(t, &b)
	there := c.join("a", memberOptions{keys: nodeKeys(t, ca)})
	here := c.join("b", b)
	settle(t, there, here)
	as := func(name, scopes string, projects ...string) *client.Client {
		parsed, err := access.Parse(scopes)
		require.NoError(t, err)
		text, err := tokens.Create(access.Token{Name: name, Scopes: parsed, Projects: projects})
		require.NoError(t, err)
		return client.New(url, &client.Options{Token: text, Retries: -1})
	}
	ctx := t.Context()
	conv := there.conversation("ann")
	_, err := there.client.Send(ctx, conv.ID, `call danger {"s":"x"}`)
	require.NoError(t, err)
	var asks []wire.Ask
	reader, approver := as("reader", "read"), as("approver", "read,approve", "/p")
	require.Eventually(t, func() bool {
		asks, err = reader.Asks(ctx, conv.ID)
		return err == nil && len(asks) == 1
	}, time.Minute, 10*time.Millisecond)
	assert.Equal(t, wire.CodeForbidden, client.CodeOf(reader.Answer(ctx, asks[0].ID, wire.Answer{Answer: wire.AnswerApprove})))
	assert.Equal(t, wire.CodeForbidden, client.CodeOf(errOf(reader.Cancel(ctx, conv.ID))))
	require.NoError(t, approver.Answer(ctx, asks[0].ID, wire.Answer{Answer: wire.AnswerApprove, By: "Ann"}))
	idle(t, there)
	kept, err := c.store.Events(ctx, conv.ID, 0, 1000)
	require.NoError(t, err)
	var all strings.Builder
	for _, e := range kept {
		all.WriteString(string(e.Data))
	}
	assert.Contains(t, all.String(), "Ann, by the token approver", "who answered is known there")

	_, err = there.client.Send(ctx, conv.ID, `call hold {}`)
	require.NoError(t, err)
	<-there.box.held
	script := func(of *client.Client) wire.Code {
		m := wire.NewMessage{Text: "x", WhenBusy: wire.BusyQueue}
		m.Model.Name = "script:/etc/passwd"
		return client.CodeOf(errOf(of.SendMessage(ctx, conv.ID, m)))
	}
	assert.Equal(t, wire.CodeForbidden, script(as("writer", "read,converse")), "a token names no file there either")
	there.box.release <- struct{}{}
	listed, err := reader.Nodes(ctx)
	require.NoError(t, err)
	require.Len(t, listed, 2)
	assert.True(t, strings.HasPrefix(listed[0].URL, "https://localhost:"))
}

// TestAConnectionThatSaysNothingToNodesEnds: who reaches the way for nodes needs no certificate to open one.
func TestAConnectionThatSaysNothingToNodesEnds(t *testing.T) {
	t.Parallel()
	keys := nodeKeys(t, nodeca.New(t))
	m := newCluster(t).join("a", memberOptions{keys: keys, world: worldOptions{api: api.Options{Timeouts: api.Timeouts{Header: 100 * time.Millisecond}}}})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", m.listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	assert.NotErrorIs(t, err, os.ErrDeadlineExceeded, "it was closed")
}

// TestATokenThatEndsWhileItsMessageWaitsElsewhere: the turn would begin on another node than the one that let the message in.
func TestATokenThatEndsWhileItsMessageWaitsElsewhere(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := memberOptions{}
	tokens, url := door(t, &o)
	there, here := c.join("a", memberOptions{tokens: tokens}), c.join("b", o)
	settle(t, there, here)
	text, err := tokens.Create(access.Token{Name: "writer", Scopes: []access.Scope{access.Read, access.Converse}})
	require.NoError(t, err)
	ctx, writer := t.Context(), client.New(url, &client.Options{Token: text, Retries: -1})
	conv := there.conversation("ann")
	_, err = there.client.Send(ctx, conv.ID, `call hold {}`)
	require.NoError(t, err)
	<-there.box.held
	waiting := make(chan error, 1)
	go func() { waiting <- errOf(writer.SendWhenBusy(ctx, conv.ID, "more", wire.BusyQueue)) }()
	require.Eventually(t, func() bool {
		busy, err := there.client.Activity(ctx)
		return assert.NoError(t, err) && busy.QueuedMessages == 1
	}, time.Minute, 5*time.Millisecond)
	_, err = tokens.Revoke("writer")
	require.NoError(t, err)
	there.box.release <- struct{}{}
	assert.Equal(t, wire.CodeUnauthorized, client.CodeOf(<-waiting))
	idle(t, there)
}

// TestATokenForManyProjects is one whose projects are no header.
func TestATokenForManyProjects(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := memberOptions{}
	tokens, url := door(t, &o)
	there, here := c.join("a", memberOptions{}), c.join("b", o)
	settle(t, there, here)
	projects := []string{"/p"}
	for i := range 1000 {
		projects = append(projects, fmt.Sprintf("/srv/%04d/%s", i, strings.Repeat("x", 60)))
	}
	text, err := tokens.Create(access.Token{Name: "many", Scopes: access.All(), Projects: projects})
	require.NoError(t, err)
	conv := there.conversation("ann")
	_, err = there.client.Send(t.Context(), conv.ID, `call hold {}`)
	require.NoError(t, err)
	<-there.box.held
	many := client.New(url, &client.Options{Token: text, Retries: -1})
	listed, err := many.Conversations(t.Context())
	require.NoError(t, err)
	require.Len(t, listed, 1)
	assert.NotEmpty(t, listed[0].Turn, "the other node said so")
	_, err = many.Cancel(t.Context(), conv.ID)
	require.NoError(t, err)
	there.box.release <- struct{}{}
	idle(t, there)
}

// TestOnlyNodesSayWhoSends: the headers between nodes are refused from clients, and a node's way lets in nobody else.
func TestOnlyNodesSayWhoSends(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	o := memberOptions{}
	tokens, url := door(t, &o)
	a := c.join("a", o)
	text, err := tokens.Create(access.Token{Name: "reader", Scopes: []access.Scope{access.Read}})
	require.NoError(t, err)
	conv := a.conversation("ann")
	local := base64.RawURLEncoding.EncodeToString([]byte(`{"local":true}`))
	send := func(to http.RoundTripper, base string, h http.Header) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/conversations/"+conv.ID+"/cancel", nil)
		require.NoError(t, err)
		req.Header = h
		resp, err := to.RoundTrip(req)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	tcp := &http.Transport{DisableKeepAlives: true}
	for _, h := range []http.Header{
		{internode.HeaderCaller: {local}},
		{internode.HeaderNode: {"a"}},
		{internode.HeaderCaller: {local}, internode.HeaderNode: {"a"}},
		{internode.HeaderCaller: {local}, internode.HeaderNode: {"a"}, "Connection": {internode.HeaderCaller + ", " + internode.HeaderNode}},
		{internode.HeaderNode: {""}},
	} {
		assert.Equal(t, http.StatusForbidden, send(over(a.direct.Address()), "http://grapnel", h.Clone()), "%v over the socket", h)
		h.Set("Authorization", "Bearer "+text)
		assert.Equal(t, http.StatusForbidden, send(tcp, url, h), "%v over TCP", h)
	}
	// Underscores and other cases are other headers, or the same one.
	assert.Equal(t, http.StatusForbidden, send(tcp, url, http.Header{"Authorization": {"Bearer " + text}, "Grapnel_caller": {local}, "Grapnel_node": {"a"}}), "a reader cancels nothing")

	node := over(strings.TrimPrefix(a.members.Self().URL, "unix:"))
	assert.Equal(t, http.StatusOK, send(node, "http://grapnel", http.Header{internode.HeaderCaller: {local}, internode.HeaderNode: {"a"}}))
	for want, h := range map[int]http.Header{
		http.StatusBadRequest:         {},
		http.StatusMisdirectedRequest: {internode.HeaderCaller: {local}, internode.HeaderNode: {"the one before"}},
	} {
		assert.Equal(t, want, send(node, "http://grapnel", h), "%v", h)
	}
	for _, who := range []string{`{"name":"x","scopes":["read"]}`, `{"name":"x","scopes":["converse"],"projects":["/q"]}`, `{}`, `{"name":"x","scopes":["everything"]}`} {
		h := http.Header{internode.HeaderCaller: {base64.RawURLEncoding.EncodeToString([]byte(who))}, internode.HeaderNode: {"a"}}
		assert.Equal(t, http.StatusForbidden, send(node, "http://grapnel", h), who)
	}
}

// TestAURLThatLeadsElsewhere: whatever the store says of a node, no request goes to anybody but a node, and the client gets an error in
// time. A URL that leads back to the sender makes no circle.
func TestAURLThatLeadsElsewhere(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	got := make(chan struct{}, 100)
	srv := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got <- struct{}{} })}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	t.Cleanup(func() {
		assert.NoError(t, srv.Close())
		<-served
	})
	c := newCluster(t)
	a := c.join("a", memberOptions{wait: 100 * time.Millisecond})
	conv := a.conversation("ann")
	for id, url := range map[string]string{
		"plain": "http://" + ln.Addr().String(), "secure": "https://" + ln.Addr().String(), "file": "file:///etc/passwd",
		"itself": a.members.Self().URL, "client": "unix:" + a.socket(),
	} {
		require.NoError(t, c.store.Beat(t.Context(), store.Node{ID: id, URL: url, TTL: time.Minute}))
		require.NoError(t, a.members.Refresh(t.Context()))
		rec, err := c.store.Claim(t.Context(), conv.ID, store.Claim{Owner: id, Hold: time.Hour})
		require.NoError(t, err)
		_, err = a.client.Send(t.Context(), conv.ID, "x")
		require.Error(t, err, id)
		assert.Contains(t, []wire.Code{wire.CodeUnavailable, wire.CodeForbidden}, client.CodeOf(err), id)
		_, err = c.store.Note(t.Context(), conv.ID, store.Note{Epoch: rec.Lease.Epoch})
		require.NoError(t, err)
	}
	assert.Empty(t, got)
}

// TestNodesThatDiffer: a list says which nodes of a project see other files.
func TestNodesThatDiffer(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.join("a", memberOptions{}), c.join("b", memberOptions{fingerprint: "other"})
	settle(t, a, b)
	listed, err := a.client.Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, listed, 2)
	for _, n := range listed {
		assert.True(t, n.Projects[0].Differs, n.ID)
	}
}
