package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/retention"
	"github.com/grapnel-go/grapnel/internal/test/databases"
	"github.com/grapnel-go/grapnel/subsystems/approval"
	"github.com/grapnel-go/grapnel/subsystems/audit"
	"github.com/grapnel-go/grapnel/subsystems/memory"
	"github.com/grapnel-go/grapnel/subsystems/schedule"
)

// inEach runs a test with the paths of two daemons of one project: with the same files, and with a state directory
// of its own for each and one database.
func inEach(t *testing.T, files map[string]string, test func(t *testing.T, a, b app.Paths)) {
	t.Helper()
	t.Run("files", func(t *testing.T) {
		t.Parallel()
		p := project(t, files)
		test(t, p, p)
	})
	t.Run("database", func(t *testing.T) {
		t.Parallel()
		a := project(t, files)
		a.Database = databases.DSN(t)
		b, err := a.In("elsewhere")
		require.NoError(t, err)
		test(t, a, b)
	})
}

func stores(t *testing.T, p app.Paths) *app.Stores {
	t.Helper()
	s, err := app.OpenStores(t.Context(), p)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func TestWhatOneDaemonKeepsTheOtherHas(t *testing.T) {
	t.Parallel()
	inEach(t, nil, func(t *testing.T, at, other app.Paths) {
		a, b := stores(t, at), stores(t, other)

		// A token, until it is revoked.
		text, err := a.Tokens().Create(access.Token{Name: "phone", Scopes: access.All()})
		require.NoError(t, err)
		theirs := b.Tokens()
		_, err = theirs.Caller(text)
		require.NoError(t, err)
		_, err = a.Tokens().Revoke("phone")
		require.NoError(t, err)
		began := time.Now()
		require.Eventually(t, func() bool { _, err = theirs.Caller(text); return err != nil }, time.Minute, 10*time.Millisecond)
		assert.ErrorContains(t, err, "was revoked on")
		t.Logf("refused after %v", time.Since(began))

		// An answer for good.
		name := "bash-" + strings.Repeat("0", 32) + ".json"
		require.NoError(t, a.Answers().Write(at.Project(), name, []byte(`{"answer":"approve"}`)))
		got, err := b.Answers().Read(at.Project(), name)
		require.NoError(t, err)
		assert.Equal(t, `{"answer":"approve"}`, string(got))
		all, err := approval.List(b.Answers())
		require.NoError(t, err)
		require.Len(t, all, 1)
		assert.Contains(t, all[0].Problem, "something else than its name says")
		require.NoError(t, approval.Forget(b.Answers(), all[0].ID))
		got, err = a.Answers().Read(at.Project(), name)
		require.NoError(t, err)
		assert.Nil(t, got)

		// An agent that a client has made, in this project only.
		require.NoError(t, a.Agents("/p").Change(func(all map[string]json.RawMessage) error {
			all["x"] = json.RawMessage(`{"name":"x"}`)
			return nil
		}))
		kept, err := b.Agents("/p").Read()
		require.NoError(t, err)
		assert.JSONEq(t, `{"name":"x"}`, string(kept["x"]))
		kept, err = b.Agents("/q").Read()
		require.NoError(t, err)
		assert.Empty(t, kept)
		no := errors.New("no")
		require.ErrorIs(t, b.Agents("/p").Change(func(all map[string]json.RawMessage) error { delete(all, "x"); return no }), no)
		kept, err = a.Agents("/p").Read()
		require.NoError(t, err)
		assert.Len(t, kept, 1, "an error changes nothing")

		// A memory and a schedule.
		mine, err := a.Memories(t.Context(), nil)
		require.NoError(t, err)
		defer func() { assert.NoError(t, mine.OnClose(context.Background())) }()
		_, err = mine.Remember(t.Context(), nil, memory.RememberInput{Name: "tea", Content: "Green."})
		require.NoError(t, err)
		yours, err := b.Memories(t.Context(), nil)
		require.NoError(t, err)
		defer func() { assert.NoError(t, yours.OnClose(context.Background())) }()
		found, err := yours.Recall(t.Context(), nil, memory.RecallInput{Query: "tea"})
		require.NoError(t, err)
		assert.Contains(t, found.Text(), "Green.")
		plans, err := a.Schedules(t.Context(), nil)
		require.NoError(t, err)
		defer func() { assert.NoError(t, plans.OnClose(context.Background())) }()
		_, err = plans.Add(t.Context(), schedule.Entry{Name: "news", Agent: "helper", Prompt: "New?", Cron: "@daily"})
		require.NoError(t, err)
		same, err := b.Schedules(t.Context(), nil)
		require.NoError(t, err)
		defer func() { assert.NoError(t, same.OnClose(context.Background())) }()
		_, err = same.Find(t.Context(), "news")
		require.NoError(t, err)

		// The audit: of files one record, and of a database a chain for each key.
		for _, s := range []*app.Stores{a, b} {
			require.NoError(t, s.Audit().Append(func(n int64) any { return audit.Record{N: n, Kind: "turn_start"} }))
		}
		v, err := a.Audit().Verify()
		if at.Database == "" {
			require.NoError(t, err)
			assert.EqualValues(t, 2, v.Records)
			return
		}
		require.ErrorIs(t, err, audit.ErrOtherKey)
		assert.EqualValues(t, 1, v.Records)
		key, err := os.ReadFile(filepath.Join(at.State, "audit", "key"))
		require.NoError(t, err)
		assert.NotContains(t, databases.Texts(t, at.Database), string(key), "the key is on the node's disk alone")
		assert.NoFileExists(t, at.Memories)
		assert.NoFileExists(t, filepath.Join(at.State, "tokens.json"))
	})
}

// An owner of tokens has memories of their own in the database, those of the user too.
func TestOwnersShareNoMemories(t *testing.T) {
	t.Parallel()
	p := project(t, nil)
	p.Database = databases.DSN(t)
	own := stores(t, p)
	alice, err := p.Of("alice")
	require.NoError(t, err)
	bob, err := p.Of("bob")
	require.NoError(t, err)
	for i, s := range []*app.Stores{own, own.Of(alice), own.Of(bob)} {
		m, err := s.Memories(t.Context(), nil)
		require.NoError(t, err)
		found, err := m.Recall(t.Context(), nil, memory.RecallInput{Query: "canary"})
		require.NoError(t, err)
		assert.Equal(t, "no memories found", found.Text())
		_, err = m.Remember(t.Context(), nil, memory.RememberInput{Name: "canary", Content: fmt.Sprint("Of ", i)})
		require.NoError(t, err)
		require.NoError(t, m.OnClose(t.Context()))
		require.NoError(t, s.Audit().Append(func(n int64) any { return audit.Record{N: n, Kind: "turn_start"} }))
	}
	v, err := own.Audit().Verify()
	require.NoError(t, err)
	assert.Len(t, v.Nodes, 3, "a chain for each, under one key")
}

// TestADeletionReachesAllStores: what goes is nowhere then, and what others have is.
func TestADeletionReachesAllStores(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		".grapnel/agents/helper.md": "---\nmodel: script:model.yaml\nmemory: {}\n---\nHelp.\n",
		"model.yaml": "rules:\n- when: {step: 1}\n  calls: [{tool: remember, args: {name: \"${user}\", content: \"Remember ${user}.\"}}]\n" +
			"- {when: always, say: \"It is ${user}.\"}\n",
	}
	inEach(t, files, func(t *testing.T, p, _ app.Paths) {
		texts := func() string {
			if p.Database != "" {
				return databases.Texts(t, p.Database)
			}
			var all strings.Builder
			require.NoError(t, filepath.WalkDir(p.State, func(path string, d os.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				data, err := os.ReadFile(path)
				all.Write(data)
				return err
			}))
			return all.String()
		}
		a, err := app.Open(t.Context(), app.Options{Paths: p, Sandbox: "off", Schedules: true})
		require.NoError(t, err)
		defer func() { assert.NoError(t, a.Close(context.Background())) }()
		agent, err := a.Register(t.Context(), "helper", hook.AgentConfig{})
		require.NoError(t, err)
		for _, sender := range []string{"ann", "bob"} {
			conv, err := agent.Conversation(t.Context(), sender)
			require.NoError(t, err)
			out, err := conv.Send(t.Context(), message.TextInput("qzcanary-of-"+sender), nil)
			require.NoError(t, err)
			require.NoError(t, out.Err)
			_, err = a.Hooks.Schedule.Add(t.Context(), schedule.Entry{Name: sender, Agent: "helper", Sender: sender, Prompt: "qzcanary-plan-" + sender, Cron: "@daily"})
			require.NoError(t, err)
		}
		require.Contains(t, texts(), "qzcanary-of-ann", "the test can see it")
		require.Contains(t, texts(), "qzcanary-plan-ann")
		keeper, err := a.Keeper()
		require.NoError(t, err)
		for _, dry := range []bool{true, false} {
			r, err := keeper.Delete(t.Context(), retention.Subject{Kind: retention.Sender, Name: "ann"}, dry)
			require.NoError(t, err)
			deleted := map[string]int64{}
			for _, part := range r.Parts {
				deleted[part.Place] = part.Deleted
			}
			assert.EqualValues(t, 1, deleted["conversations"])
			assert.EqualValues(t, 1, deleted["memories"])
			assert.EqualValues(t, 1, deleted["schedules"])
		}
		left := texts()
		assert.NotContains(t, left, "qzcanary-of-ann")
		assert.NotContains(t, left, "qzcanary-plan-ann")
		assert.Contains(t, left, "qzcanary-of-bob")
		assert.Contains(t, left, "qzcanary-plan-bob")
		_, err = keeper.Delete(t.Context(), retention.Subject{Kind: retention.Project, Name: p.Project()}, false)
		require.NoError(t, err)
		assert.NotContains(t, texts(), "qzcanary")
		require.NoError(t, keeper.Resume(t.Context()), "no deletion is left in the journal")
	})
}

// TestADeletionReachesTheDisksOfOtherMachines, when their daemons look: once a day, and when they start.
func TestADeletionReachesTheDisksOfOtherMachines(t *testing.T) {
	t.Parallel()
	p := project(t, map[string]string{
		"model.yaml":                "rules:\n- when: {step: 1}\n  calls: [{tool: write, args: {file_path: out.txt, content: x}}]\n- {when: always, say: Done.}\n",
		".grapnel/agents/helper.md": "---\nmodel: script:model.yaml\n---\nHelp.\n",
	})
	p.Database = databases.DSN(t)
	other, err := p.In("elsewhere")
	require.NoError(t, err)
	open := func(p app.Paths) (*app.App, *retention.Keeper) {
		a, err := app.Open(t.Context(), app.Options{Paths: p, Sandbox: "off", Approval: approval.Options{Timeout: time.Millisecond, OnTimeout: approval.ApproveOnTimeout}})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, a.Close(context.Background())) })
		k, err := a.Keeper()
		require.NoError(t, err)
		return a, k
	}
	a, mine := open(p)
	_, theirs := open(other)
	agent, err := a.Register(t.Context(), "helper", hook.AgentConfig{})
	require.NoError(t, err)
	conv, err := agent.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	out, err := conv.Send(t.Context(), message.TextInput("Write."), nil)
	require.NoError(t, err)
	require.NoError(t, out.Err)
	book := func() (text string) {
		files, err := filepath.Glob(filepath.Join(p.State, "undo", "*", "*"))
		require.NoError(t, err)
		for _, file := range files {
			if data, err := os.ReadFile(file); err == nil {
				text += string(data)
			}
		}
		return text
	}
	require.NoError(t, mine.Resume(t.Context()))
	require.Contains(t, book(), conv.ID(), "what is not deleted stays")
	require.Eventually(t, func() bool {
		_, err = theirs.Delete(t.Context(), retention.Subject{Kind: retention.Conversation, Name: conv.ID()}, false)
		return err == nil
	}, time.Minute, 50*time.Millisecond, "the other daemon may have to wait for the lease: %v", err)
	require.Contains(t, book(), conv.ID(), "that is another machine's disk")
	require.NoError(t, mine.Resume(t.Context()))
	assert.NotContains(t, book(), conv.ID())
}
