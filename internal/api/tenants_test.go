package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/tenant"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// owners is a daemon of /mine for its own user, for alice and for bob, who share even the store.
type owners struct {
	*tcp
	of    map[string]*world
	store *mem.Store
}

func newOwners(t *testing.T, admit func(ctx context.Context, conversation string) (func(), error)) *owners {
	t.Helper()
	s := &owners{of: map[string]*world{}, store: mem.New(&mem.Options{Journal: true})}
	memories := map[string][]wire.Memory{"bob": {{ID: "bobs-1", Name: "canary", Content: "canary"}}}
	schedules := map[string][]wire.Schedule{"bob": {{Name: "bobs-2", Prompt: "canary"}}}
	for _, owner := range []string{"alice", "bob"} {
		s.of[owner] = newWorld(t, &worldOptions{store: s.store, api: api.Options{
			Memories: &remembered{all: memories[owner]}, Schedules: &scheduled{schedules[owner]},
			Project: tenant.ID{Owner: owner, Root: "/mine"}.String(), Tenants: &api.Tenants{Owner: owner, Admit: admit}, Abandoned: func(string) bool { return true },
		}})
	}
	s.tcp = newTCP(t, worldOptions{store: s.store, api: api.Options{
		Project: "/mine",
		Tenants: &api.Tenants{Server: func(_ context.Context, owner string) (*api.Server, func(), error) {
			if owner == "carol" {
				return nil, nil, &access.Refused{Status: http.StatusServiceUnavailable, Text: "no room for carol"}
			}
			return s.of[owner].server, func() {}, nil
		},
			Active: func(context.Context) []wire.ActiveTenant {
				return []wire.ActiveTenant{{Owner: "alice", Turns: 1, Requests: 2, Waiting: 1, Today: &wire.SpentToday{Calls: 3}}}
			}},
	}})
	return s
}

// as returns a client with a token of an owner, and the token.
func (s *owners) as(owner string, scopes ...access.Scope) (*client.Client, string) {
	s.t.Helper()
	if len(scopes) == 0 {
		scopes = access.All()
	}
	text, err := s.tokens.Create(access.Token{Name: "t" + owner + strings.ReplaceAll(access.Join(scopes), ",", "-"), Owner: owner, Scopes: scopes})
	require.NoError(s.t, err)
	return client.New(s.url, &client.Options{Token: text}), text
}

// things are what bob has, by the names of the parameters in paths.
type things map[string]string

// busy makes conversations of bob in which a turn waits for an approval, an answer, and a client.
func (s *owners) busy(c *client.Client) things {
	t, ctx := s.t, s.t.Context()
	out := things{"memory": "bobs-1", "schedule": "bobs-2"}
	begin := func(sender string, m wire.NewMessage) wire.Conversation {
		conv, err := c.Conversation(ctx, "helper", sender)
		require.NoError(t, err)
		_, err = c.SendMessage(ctx, conv.ID, m)
		require.NoError(t, err)
		return conv
	}
	asks := begin("asks", wire.NewMessage{Text: `call danger {"s":"canary"}`})
	asking := begin("asking", wire.NewMessage{Text: `call ask {"s":"canary"}`})
	out["conversation"] = begin("calls", looks(`call look {"at":"canary"}`)).ID
	require.Eventually(t, func() bool {
		approvals, err := c.Asks(ctx, asks.ID)
		require.NoError(t, err)
		questions, err := c.Inquiries(ctx, asking.ID)
		require.NoError(t, err)
		calls, err := c.Calls(ctx, out["conversation"])
		require.NoError(t, err)
		if len(approvals)+len(questions)+len(calls) < 3 {
			return false
		}
		out["ask"], out["inquiry"], out["call"], out["turn"] = approvals[0].ID, questions[0].ID, calls[0].ID, calls[0].Turn
		return true
	}, time.Minute, 5*time.Millisecond)
	for item, err := range c.Events(ctx, asks.ID, "1-0") {
		require.NoError(t, err)
		if out["event"] = item.ID; item.Event.Kind == event.TurnStart {
			break
		}
	}
	_, err := s.store.Enqueue(ctx, store.Job{Job: hook.Job{Kind: "k", Key: "canary"}, Project: tenant.ID{Owner: "bob", Root: "/mine"}.String()})
	require.NoError(t, err)
	jobs, err := c.Jobs(ctx, wire.JobFilter{})
	require.NoError(t, err)
	out["job"] = strconv.FormatInt(jobs[0].ID, 10)
	_, err = c.CreateAgent(ctx, wire.NewAgent{Name: "bobs", Description: "canary"})
	require.NoError(t, err)
	return out
}

// fill puts what bob has into the path of a route.
func (a things) fill(path string) string {
	id := a["conversation"]
	switch {
	case strings.HasPrefix(path, "/v1/asks"):
		id = a["ask"]
	case strings.HasPrefix(path, "/v1/inquiries"):
		id = a["inquiry"]
	}
	return strings.NewReplacer("{id}", url.PathEscape(id), "{agent}", "bobs", "{event}", a["event"], "{call}", url.PathEscape(a["call"]), "{job}", a["job"], "{memory}", a["memory"], "{schedule}", a["schedule"], "{turn}", a["turn"]).Replace(path)
}

// attackBodies are what is sent to routes that read one.
var attackBodies = map[string]string{
	"PUT /v1/agents/{agent}": `{"name":"bobs"}`, "POST /v1/agents": `{"name":"other"}`, "PUT /v1/log": `{"level":"debug"}`,
	"POST /v1/conversations": `{"agent":"bobs","sender":"x"}`, "POST /v1/conversations/{id}/messages": `{"text":"x"}`,
	"POST /v1/jobs/{job}": `{"change":"cancel"}`, "POST /v1/inquiries/{id}": `{"given":[]}`, "POST /v1/asks/{id}": `{"answer":"refuse"}`,
	"PUT /v1/memories/{memory}":                `{"approve":true}`,
	"POST /v1/conversations/{id}/calls/{call}": `{"text":"x"}`, "POST /v1/conversations/{id}/fork": `{"sender":"x"}`,
}

// TestNoRouteLeadsToAnotherOwner: every route, with everything of bob's that it can name, as alice and as the daemon's own user. Bob
// himself gets there, so the requests are right.
func TestNoRouteLeadsToAnotherOwner(t *testing.T) {
	t.Parallel()
	s := newOwners(t, nil)
	bob, bobs := s.as("bob")
	_, alices := s.as("alice")
	_, users := s.as("")
	of := s.busy(bob)
	before, err := s.store.List(t.Context())
	require.NoError(t, err)

	send := func(token string, r api.Route) (int, string) {
		t.Helper()
		body := attackBodies[r.Method+" "+r.Path]
		if body == "" && r.Method != http.MethodGet {
			body = "{}"
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		path := of.fill(r.Path) + "?q=canary"
		if r.Method == http.MethodPost && r.Path == "/v1/deletions" {
			body = `{"conversation":"` + of["conversation"] + `"}`
		}
		req, err := http.NewRequestWithContext(ctx, r.Method, s.url+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Last-Event-ID", "0-0")
		req.Header.Set("Content-Type", "application/json")
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		require.NoError(t, err, "%s %s", r.Method, r.Path)
		defer resp.Body.Close()
		time.AfterFunc(300*time.Millisecond, cancel) // streams do not end by themselves
		text, err := io.ReadAll(resp.Body)
		if !errors.Is(err, context.Canceled) {
			require.NoError(t, err)
		}
		return resp.StatusCode, string(text)
	}
	named := func(r api.Route) bool {
		return strings.Contains(r.Path, "{") && r.Path != "/page/{file}" || r.Path == "/v1/deletions" // the page is nobody's
	}
	tried := 0
	for name, token := range map[string]string{"alice": alices, "the user": users} {
		for _, r := range s.server.Routes() {
			at := name + ": " + r.Method + " " + r.Path
			if r.Path == "/v1/deletions" {
				continue // these servers delete nothing; internal/daemon has the test
			}
			status, text := send(token, r)
			tried++
			assert.NotContains(t, text, "canary\"", at)
			assert.NotContains(t, text, `"bobs"`, at)
			for what, id := range of {
				if what != "event" {
					assert.NotContains(t, strings.ReplaceAll(text, "no "+what, ""), `:"`+id+`"`, at)
				}
			}
			switch {
			case named(r) && name == "alice":
				assert.Equal(t, http.StatusNotFound, status, "%s: %s", at, text)
			case named(r):
				assert.Contains(t, []int{http.StatusNotFound, http.StatusConflict}, status, "%s: %s", at, text)
			case r.Path == "/metrics" || r.Path == "/v1/log":
				if name == "alice" {
					assert.Equal(t, http.StatusForbidden, status, at)
				}
			}
		}
	}
	assert.Greater(t, tried, 80)
	after, err := s.store.List(t.Context())
	require.NoError(t, err)
	for _, rec := range before {
		assert.Contains(t, after, rec, "what bob has is as it was")
	}

	routes := s.server.Routes()
	slices.SortStableFunc(routes, func(a, b api.Route) int { return strings.Compare(b.Method, a.Method) }) // DELETE is the last
	for _, r := range routes {
		if named(r) && r.Path != "/v1/deletions" && !strings.HasSuffix(r.Path, "/adopt") {
			status, text := send(bobs, r)
			assert.NotEqual(t, http.StatusNotFound, status, "%s %s: %s", r.Method, r.Path, text)
			assert.NotEqual(t, http.StatusForbidden, status, "%s %s: %s", r.Method, r.Path, text)
		}
	}
}

// TestStreamsOfOwners: the stream of all events has those of one owner.
func TestStreamsOfOwners(t *testing.T) {
	t.Parallel()
	s := newOwners(t, nil)
	bob, _ := s.as("bob")
	alice, _ := s.as("alice")
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	conv, err := bob.Conversation(t.Context(), "helper", "ann")
	require.NoError(t, err)
	_, err = bob.Send(t.Context(), conv.ID, "hello")
	require.NoError(t, err)
	for item, err := range alice.Events(ctx, "", "1-0") {
		if err != nil {
			break
		}
		assert.NotEqual(t, conv.ID, item.Event.Conversation)
	}
	seen := 0
	for item, err := range bob.Events(t.Context(), "", "1-0") {
		require.NoError(t, err)
		if seen++; item.Event.Kind == event.TurnEnd {
			break
		}
	}
	assert.Greater(t, seen, 2)
}

// TestScopesOfOwners: the scopes of a token count in its owner's tenant as elsewhere, and no token administers the daemon by its owner's.
func TestScopesOfOwners(t *testing.T) {
	t.Parallel()
	s := newOwners(t, nil)
	reader, _ := s.as("alice", access.Read)
	_, err := reader.Conversation(t.Context(), "helper", "ann")
	assert.Equal(t, wire.CodeForbidden, client.CodeOf(err))
	require.ErrorContains(t, err, "this needs the scope converse")
	alice, _ := s.as("alice")
	require.ErrorContains(t, alice.SetLogLevel(t.Context(), "debug"), "of the daemon, and the token talice")
	carol, _ := s.as("carol")
	_, err = carol.Agents(t.Context())
	assert.Equal(t, wire.CodeUnavailable, client.CodeOf(err))
	require.ErrorContains(t, err, "no room for carol")

	now, err := s.client.Activity(t.Context())
	require.NoError(t, err)
	assert.Len(t, now.Tenants, 1)
	now, err = alice.Activity(t.Context())
	require.NoError(t, err)
	assert.Empty(t, now.Tenants)
	user, _ := s.as("", access.Read)
	now, err = user.Activity(t.Context())
	require.NoError(t, err)
	assert.Empty(t, now.Tenants, "who may only read is not told who else is here")

	t.Log("a page that an owner opens is the owner's")
	link, err := alice.Link(t.Context(), wire.NewLink{})
	require.Error(t, err, "the server of an owner has no door in this test: %v", link)

	t.Log("a daemon without owners")
	single := newTCP(t, worldOptions{})
	text, err := single.tokens.Create(access.Token{Name: "x", Owner: "alice", Scopes: access.All()})
	require.NoError(t, err)
	_, err = client.New(single.url, &client.Options{Token: text}).Agents(t.Context())
	require.ErrorContains(t, err, "this daemon serves its own user only")
}

// TestAnOwnerAtALimit is told which, with the header that says when to come back; nothing has begun.
func TestAnOwnerAtALimit(t *testing.T) {
	t.Parallel()
	s := newOwners(t, func(context.Context, string) (func(), error) {
		return nil, &access.Refused{Status: http.StatusTooManyRequests, Text: "two turns run", After: 90 * time.Second}
	})
	alice, token := s.as("alice")
	conv, err := alice.Conversation(t.Context(), "helper", "ann")
	require.NoError(t, err)
	_, err = alice.Send(t.Context(), conv.ID, "hello")
	assert.Equal(t, wire.CodeTooMany, client.CodeOf(err))
	_, err = alice.Compact(t.Context(), conv.ID, wire.NewCompaction{})
	assert.Equal(t, wire.CodeTooMany, client.CodeOf(err))
	messages, err := alice.Messages(t.Context(), conv.ID)
	require.NoError(t, err)
	assert.Empty(t, messages)

	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/conversations/"+conv.ID+"/messages", strings.NewReader(`{"text":"x"}`))
	req.RequestURI = ""
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
	assert.Equal(t, "90", resp.Header.Get("Retry-After"))
}

// TestOwnersOfTokens are those of tokens that count.
func TestOwnersOfTokens(t *testing.T) {
	t.Parallel()
	tokens := access.OpenTokens(filepath.Join(t.TempDir(), "tokens.json"))
	for _, token := range []access.Token{
		{Name: "a", Owner: "bob"}, {Name: "b", Owner: "alice", Projects: []string{"/mine"}}, {Name: "c", Owner: "carol", Projects: []string{"/theirs"}},
		{Name: "d"}, {Name: "e", Owner: "alice"}, {Name: "f", Owner: "dora", Expires: time.Now().Add(-time.Hour)}, {Name: "g", Owner: "erik"},
	} {
		token.Scopes = access.All()
		_, err := tokens.Create(token)
		require.NoError(t, err)
	}
	_, err := tokens.Revoke("g")
	require.NoError(t, err)
	got, err := tokens.Owners("/mine")
	require.NoError(t, err)
	assert.Equal(t, []string{"alice", "bob"}, got)
	_, err = tokens.Create(access.Token{Name: "x", Owner: "A:/b", Scopes: access.All()})
	require.ErrorContains(t, err, "small letters")
}

// TestOwnersCrowdOutNoSearch: of all projects the user finds the best of their own, whatever owners of tokens say in the same store.
func TestOwnersCrowdOutNoSearch(t *testing.T) {
	t.Parallel()
	s, ctx := newOwners(t, nil), t.Context()
	say := func(project, sender, text string) {
		rec, err := s.store.Conversation(ctx, store.Key{Project: project, Agent: "helper", Sender: sender})
		require.NoError(t, err)
		rec, err = s.store.Claim(ctx, rec.ID, store.Claim{Owner: "x", Hold: time.Hour})
		require.NoError(t, err)
		_, err = s.store.Append(ctx, rec.ID, store.Append{Version: rec.Version, Epoch: rec.Lease.Epoch, Messages: message.MessagesOf(message.UserText(text)), TurnEnds: true})
		require.NoError(t, err)
	}
	for i := range 40 {
		say("alice:/mine", fmt.Sprint(i), "harbour harbour")
	}
	say("/mine", "ann", "the harbour is full of boats, and one of them is ours")
	say("/other", "ann", "there is another harbour")
	user, _ := s.as("")
	found, err := user.Search(ctx, client.Query{Text: "harbour", All: true})
	require.NoError(t, err)
	assert.Len(t, found, 2)
}
