package daemon_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
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
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/subsystems/schedule"
)

// shared is a daemon that several owners use.
type shared struct {
	t     *testing.T
	paths app.Paths
	url   string
	stop  func()
	// local is a client of the socket.
	local *client.Client
}

// serveOwners runs a daemon over TCP for who has a token, until the test ends or stop is called.
func serveOwners(t *testing.T, paths app.Paths, node app.Node) *shared {
	t.Helper()
	at := socket(t)
	d, err := daemon.Open(t.Context(), daemon.Options{
		Socket: at, Listen: daemon.Listen{Address: "127.0.0.1:0"}, Resume: true, App: app.Options{Paths: paths, Node: node, Note: note},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	s := &shared{t: t, paths: paths, url: d.URLs()[0], local: client.New(at, nil)}
	s.stop = func() {
		if cancel(); ended != nil {
			assert.NoError(t, <-ended)
			ended = nil
		}
	}
	t.Cleanup(s.stop)
	return s
}

// tokensOf returns the tokens of the daemon.
func tokensOf(t *testing.T, paths app.Paths) *access.Tokens {
	t.Helper()
	stores, err := app.OpenStores(t.Context(), paths)
	require.NoError(t, err)
	t.Cleanup(stores.Close)
	return stores.Tokens()
}

// tokenOf makes a token of an owner that may do everything.
func tokenOf(t *testing.T, paths app.Paths, owner string) string {
	t.Helper()
	text, err := tokensOf(t, paths).Create(access.Token{Name: "of-" + owner, Owner: owner, Scopes: access.All()})
	require.NoError(t, err)
	return text
}

func (s *shared) as(owner string) *client.Client {
	return client.New(s.url, &client.Options{Token: tokenOf(s.t, s.paths, owner)})
}

// says sends a message and waits for the end of the turn.
func says(t *testing.T, c *client.Client, agent, sender, text string) wire.Conversation {
	t.Helper()
	conv, err := c.Conversation(t.Context(), agent, sender)
	require.NoError(t, err)
	turn, err := c.Send(t.Context(), conv.ID, text)
	require.NoError(t, err)
	for item, err := range c.Follow(t.Context(), turn) {
		require.NoError(t, err)
		if item.Event.Kind == event.TurnEnd {
			require.Equal(t, hook.StopCompleted, item.Event.Detail().Stop)
		}
	}
	return conv
}

// TestOwnersShareADirectoryAndNothingElse: each owner of a token has conversations, agents and figures of their own, over the same project,
// also after the daemon was started again.
func TestOwnersShareADirectoryAndNothingElse(t *testing.T) {
	t.Parallel()
	needs.Namespaces(t)
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		shareADirectory(t, project(t))
	})
	t.Run("a database", func(t *testing.T) {
		t.Parallel()
		paths := project(t)
		paths.Database = pgtest.Database(t)
		shareADirectory(t, paths)
	})
}

func shareADirectory(t *testing.T, paths app.Paths) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(paths.Root, "model.yaml"), []byte("rules: [{when: always, say: Hi.}]"), 0o600))
	s := serveOwners(t, paths, app.Node{})
	everybody := map[string]*client.Client{"": s.local, "alice": s.as("alice"), "bob": s.as("bob")}
	mine := map[string]wire.Conversation{}
	for owner, c := range everybody {
		mine[owner] = says(t, c, "helper", "ann", "I am "+owner+"canary")
	}
	check := func() {
		for owner, c := range everybody {
			for _, list := range []func(context.Context) ([]wire.Conversation, error){c.Conversations, c.AllConversations} {
				all, err := list(t.Context())
				require.NoError(t, err)
				require.Len(t, all, 1, owner)
				assert.Equal(t, mine[owner].ID, all[0].ID, owner)
			}
			found, err := c.Search(t.Context(), client.Query{Text: "alicecanary bobcanary canary"})
			require.NoError(t, err)
			require.Len(t, found, 1, owner)
			for other, conv := range mine {
				_, err := c.Messages(t.Context(), conv.ID)
				if owner == other {
					require.NoError(t, err)
				} else {
					assert.Equal(t, wire.CodeNotFound, client.CodeOf(err), "%s reads what %s has said: %v", owner, other, err)
				}
			}
			now, err := c.Activity(t.Context())
			require.NoError(t, err)
			assert.EqualValues(t, 1, now.Today.Calls, "the calls of others count for others")
			if owner == "" {
				continue
			}
			assert.Empty(t, now.Tenants)
			_, err = c.LogLevel(t.Context())
			assert.Equal(t, wire.CodeForbidden, client.CodeOf(err), "the log is of the daemon")
		}
	}
	check()
	_, err := everybody["alice"].CreateAgent(t.Context(), wire.NewAgent{Name: "hers", Model: "openai:small"})
	require.NoError(t, err)
	for owner, c := range everybody {
		agents, err := c.Agents(t.Context())
		require.NoError(t, err)
		want := []string{"grapnel", "helper"}
		if owner == "alice" {
			want = append(want, "hers")
		}
		assert.Equal(t, want, names(agents), owner)
	}
	now, err := s.local.Activity(t.Context())
	require.NoError(t, err)
	var owners []string
	for _, a := range now.Tenants {
		owners = append(owners, a.Owner)
		assert.EqualValues(t, 1, a.Today.Calls)
	}
	assert.Equal(t, []string{"alice", "bob"}, owners, "who runs the daemon sees what everybody uses")

	s.stop()
	again := serveOwners(t, paths, app.Node{})
	everybody[""] = again.local
	tokens := tokensOf(t, paths)
	for _, owner := range []string{"alice", "bob"} {
		_, err := tokens.Revoke("of-" + owner)
		require.NoError(t, err)
		everybody[owner] = again.as(owner)
	}
	check()
	_, err = everybody["alice"].Agent(t.Context(), "hers")
	require.NoError(t, err)

	deletesItsOwn(t, paths, everybody, mine)

	t.Log("nothing of one owner is in the files of another")
	for owner, of := range map[string]string{"alice": "bobcanary", "bob": "alicecanary"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(paths.State, "owners", owner), func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := os.ReadFile(path)
			assert.False(t, bytes.Contains(data, []byte(of)), path)
			return err
		}))
	}
}

// deletesItsOwn has alice delete whatever she can name: what is hers goes, and nothing else.
func deletesItsOwn(t *testing.T, paths app.Paths, everybody map[string]*client.Client, mine map[string]wire.Conversation) {
	t.Helper()
	stores, err := app.OpenStores(t.Context(), paths)
	require.NoError(t, err)
	defer stores.Close()
	schedules, err := stores.Schedules(t.Context(), note)
	require.NoError(t, err)
	defer func() { assert.NoError(t, schedules.OnClose(context.Background())) }()
	_, err = schedules.Add(t.Context(), schedule.Entry{Name: "news", Agent: "helper", Sender: "ann", Prompt: "x", Cron: "@yearly"})
	require.NoError(t, err)
	alice := everybody["alice"]
	for _, project := range []string{paths.Root, "bob:" + paths.Root, "before", "/elsewhere"} {
		_, err := alice.Delete(t.Context(), wire.Deletion{Project: project})
		assert.Equal(t, wire.CodeForbidden, client.CodeOf(err), "%s: %v", project, err)
	}
	for _, owner := range []string{"", "bob"} {
		_, err := alice.Delete(t.Context(), wire.Deletion{Conversation: mine[owner].ID})
		assert.Equal(t, wire.CodeNotFound, client.CodeOf(err), "%s: %v", owner, err)
	}
	_, err = everybody[""].Delete(t.Context(), wire.Deletion{Project: "alice:" + paths.Root})
	assert.Equal(t, wire.CodeForbidden, client.CodeOf(err), "%v", err)
	gone, err := alice.Delete(t.Context(), wire.Deletion{Sender: "ann"})
	require.NoError(t, err)
	assert.Equal(t, []string{mine["alice"].ID}, gone.Conversations)
	for owner, c := range everybody {
		all, err := c.Conversations(t.Context())
		require.NoError(t, err)
		if owner == "alice" {
			assert.Empty(t, all)
		} else {
			assert.Len(t, all, 1, owner)
		}
	}
	_, err = schedules.Find(t.Context(), "news")
	require.NoError(t, err, "a schedule of the user whose sender has the same name")
	_, err = alice.Delete(t.Context(), wire.Deletion{Project: "alice:" + paths.Root})
	require.NoError(t, err)
	gone, err = everybody[""].Delete(t.Context(), wire.Deletion{Sender: "ann"})
	require.NoError(t, err)
	assert.Equal(t, []string{mine[""].ID}, gone.Conversations, "nor does the user delete what owners have by the name of a sender")
	_, err = everybody["bob"].Messages(t.Context(), mine["bob"].ID)
	require.NoError(t, err)
}

// TestNoOwnerGetsOutOfTheSandbox: an owner may approve what their own turns ask, and gets nothing of the machine by that. The user of the
// socket does.
func TestNoOwnerGetsOutOfTheSandbox(t *testing.T) {
	t.Parallel()
	needs.Namespaces(t)
	paths := project(t)
	require.NoError(t, os.WriteFile(filepath.Join(paths.Root, "model.yaml"), []byte(
		"rules:\n- when: {step: 1}\n  calls:\n  - {tool: bash, args: {command: \"touch "+filepath.Join(paths.Home, "out")+"\", needs: [outside]}}\n- {when: always, say: Done.}\n"), 0o600))
	s := serveOwners(t, paths, app.Node{})
	tries := func(c *client.Client) (result string) {
		conv, err := c.Conversation(t.Context(), "helper", "ann")
		require.NoError(t, err)
		turn, err := c.Send(t.Context(), conv.ID, "begin")
		require.NoError(t, err)
		for item, err := range c.Follow(t.Context(), turn) {
			require.NoError(t, err)
			switch item.Event.Kind {
			case event.ApprovalAsked:
				asks, err := c.Asks(t.Context(), conv.ID)
				require.NoError(t, err)
				require.Len(t, asks, 1)
				require.NoError(t, c.Answer(t.Context(), asks[0].ID, wire.Answer{Answer: "approve"}))
			case event.CallResult:
				result = item.Event.Detail().Result.Text()
			}
		}
		return result
	}
	assert.Contains(t, tries(s.as("alice")), "several people share the user")
	assert.NoFileExists(t, filepath.Join(paths.Home, "out"))
	assert.NotContains(t, tries(s.local), "several people share the user")
}

// TestADaemonWithoutASandboxServesNoOwner: neither when it starts, nor later.
func TestADaemonWithoutASandboxServesNoOwner(t *testing.T) {
	t.Parallel()
	paths := project(t)
	open := func() (*daemon.Daemon, error) {
		return daemon.Open(t.Context(), daemon.Options{Socket: socket(t), Listen: daemon.Listen{Address: "127.0.0.1:0"}, App: app.Options{Paths: paths, Sandbox: "off", Note: note}})
	}
	d, err := open()
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	_, err = client.New(d.URLs()[0], &client.Options{Token: tokenOf(t, paths, "alice")}).Agents(t.Context())
	assert.Equal(t, wire.CodeUnavailable, client.CodeOf(err), "%v", err)
	assert.ErrorContains(t, err, "the sandbox at its level full: it is turned off")
	stop()
	require.NoError(t, <-ended)
	_, err = open()
	require.ErrorContains(t, err, "it is turned off, by --sandbox or in ~/.grapnel/config.yaml")
	assert.ErrorContains(t, err, "`grapnel token list`")
	_, err = tokensOf(t, paths).Revoke("of-alice")
	require.NoError(t, err)
	d, err = open()
	require.NoError(t, err, "nobody is left")
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, d.Run(stopped))
}

// TestLimitsOfOwners: who is beyond one is refused, and told which it is and when to come back; others are not.
func TestLimitsOfOwners(t *testing.T) {
	t.Parallel()
	needs.Namespaces(t)
	paths := project(t)
	require.NoError(t, os.WriteFile(filepath.Join(paths.Root, "model.yaml"), []byte("rules: [{when: always, say: Hi.}]"), 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(paths.Home, ".grapnel"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(paths.Home, ".grapnel", "config.yaml"), []byte("tenants: {tokens: 1, owners: {bob: {tokens: 1000000}}}\n"), 0o600))
	s := serveOwners(t, paths, app.Node{})
	alice, bob := s.as("alice"), s.as("bob")
	conv := says(t, alice, "helper", "ann", "hello")
	_, err := alice.Send(t.Context(), conv.ID, "again")
	require.Equal(t, wire.CodeTooMany, client.CodeOf(err), "%v", err)
	assert.ErrorContains(t, err, "tenants.tokens in config.yaml")
	says(t, bob, "helper", "ann", "hello")
	says(t, bob, "helper", "ann", "again")
	says(t, s.local, "helper", "ann", "hello")
	says(t, s.local, "helper", "ann", "again")

	require.NoError(t, os.WriteFile(filepath.Join(paths.Home, ".grapnel", "config.yaml"), []byte("tenants: {turns: none}\n"), 0o600))
	_, err = daemon.Open(t.Context(), daemon.Options{Socket: socket(t), App: app.Options{Paths: paths, Note: note}})
	require.ErrorContains(t, err, "tenants")
}

// TestAnInterruptedTurnOfAnOwnerGoesOn when the daemon starts again, before the owner comes back.
func TestAnInterruptedTurnOfAnOwnerGoesOn(t *testing.T) {
	t.Parallel()
	needs.Namespaces(t)
	paths := project(t)
	require.NoError(t, os.WriteFile(filepath.Join(paths.Root, "model.yaml"), []byte("rules: [{when: always, say: Hi.}]"), 0o600))
	tokenOf(t, paths, "alice")
	hers, err := paths.Of("alice")
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(hers.State, paths.State))
	st, err := app.OpenConversations(t.Context(), hers, note)
	if err != nil { // there is no database yet
		require.NoError(t, app.With(t.Context(), app.Options{Paths: hers, Note: note}, func(*app.App) error { return nil }))
		st, err = app.OpenConversations(t.Context(), hers, note)
	}
	require.NoError(t, err)
	rec, err := st.Conversation(t.Context(), store.Key{Project: hers.Project(), Agent: "helper", Sender: "ann"})
	require.NoError(t, err)
	_, err = st.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("hello")), Entries: []store.Entry{
		{Kind: store.EntryTurn, Data: message.JSON(`{"id":"t1","number":1,"project":"` + hers.Project() + `"}`)},
	}})
	require.NoError(t, err)
	require.NoError(t, st.Close())
	serveOwners(t, paths, app.Node{})
	require.Eventually(t, func() bool {
		st, err := app.OpenConversations(t.Context(), hers, note)
		require.NoError(t, err)
		defer st.Close()
		all, err := st.List(t.Context())
		require.NoError(t, err)
		return len(all) == 1 && !all[0].Journaled && all[0].Turns == 1
	}, time.Minute, 50*time.Millisecond)
}
