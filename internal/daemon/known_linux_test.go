package daemon_test

import (
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
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/daemon"
	"github.com/grapnel-go/grapnel/internal/trust"
	"github.com/grapnel-go/grapnel/subsystems/schedule"
)

// TestWhatTheProgramKnows: a server, memories that a model has written and a schedule, as a client of the daemon sees and changes them.
func TestWhatTheProgramKnows(t *testing.T) {
	t.Parallel()
	paths := project(t)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(paths.Root, name), []byte(text), 0o600))
	}
	write("model.yaml", `rules:
  - when: {result: remember}
    say: Kept.
  - when: {user: {contains: keep}}
    calls: [{tool: remember, args: {name: berth, content: Our berth is number four.}}]
`)
	write(".mcp.json", `{"mcpServers":{"broken":{"command":"sh","args":["-c","echo no licence for $LICENCE >&2; exit 3"],"env":{"LICENCE":"sk-0123456789abcdefghij"}}}}`)
	stores, err := app.OpenStores(t.Context(), paths)
	require.NoError(t, err)
	scheduled, err := stores.Schedules(t.Context(), note)
	require.NoError(t, err)
	_, err = scheduled.Add(t.Context(), schedule.Entry{Name: "news", Agent: "helper", Prompt: "What is new?", Cron: "0 7 * * *", Zone: "Europe/Berlin"})
	require.NoError(t, err)
	require.NoError(t, scheduled.OnClose(t.Context()))

	yes := func(context.Context, trust.Request) (trust.Answer, error) { return trust.Once, nil }
	at := socket(t)
	d, err := daemon.Open(t.Context(), daemon.Options{Socket: at, App: app.Options{Paths: paths, Note: note, Trust: yes, TrustLater: yes}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-ended)
	})
	c := client.New(at, nil)
	seesServers(t, c)
	changesMemories(t, c)
	changesSchedules(t, c)
}

func seesServers(t *testing.T, c *client.Client) {
	t.Helper()
	var got wire.Server
	require.Eventually(t, func() bool {
		all, err := c.Servers(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		got = all[0]
		return got.State == "lost"
	}, time.Minute, 20*time.Millisecond)
	assert.Equal(t, "broken", got.Name)
	assert.Equal(t, "stdio", got.Transport)
	assert.True(t, got.Shared)
	assert.Contains(t, got.Reason, "no licence for [hidden]")
	assert.Equal(t, []string{"no licence for [hidden]"}, got.Log)
	assert.WithinDuration(t, time.Now(), got.Since, time.Minute)
}

func changesMemories(t *testing.T, c *client.Client) {
	t.Helper()
	ctx := t.Context()
	conv, err := c.Conversation(ctx, "helper", "ann")
	require.NoError(t, err)
	_, err = c.Send(ctx, conv.ID, "keep our berth in mind")
	require.NoError(t, err)
	list := func() []wire.Memory {
		got, err := c.Memories(ctx, wire.MemoryFilter{Agent: "helper"})
		require.NoError(t, err)
		return got.Memories
	}
	require.Eventually(t, func() bool { return len(list()) == 1 }, time.Minute, 20*time.Millisecond)
	was := list()[0]
	assert.Equal(t, "Our berth is number four.", was.Content)
	assert.Equal(t, "agent helper", was.Of)
	assert.Equal(t, "model", was.Origin)

	_, err = c.ChangeMemory(ctx, was.ID, wire.MemoryChange{Approve: true})
	assert.Equal(t, wire.CodeInvalid, client.CodeOf(err))
	_, err = c.ChangeMemory(ctx, was.ID, wire.MemoryChange{Content: strings.Repeat("x", 70_000)})
	assert.Equal(t, wire.CodeInvalid, client.CodeOf(err))
	_, err = c.ChangeMemory(ctx, "w99", wire.MemoryChange{Content: "x"})
	assert.Equal(t, wire.CodeInvalid, client.CodeOf(err))
	_, err = c.ChangeMemory(ctx, "w99", wire.MemoryChange{Approve: true})
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
	now, err := c.ChangeMemory(ctx, was.ID, wire.MemoryChange{Content: "Our berth is number seven."})
	require.NoError(t, err)
	assert.Equal(t, "user", now.Origin)
	assert.Equal(t, []wire.Memory{now}, list())
	_, err = c.ChangeMemory(ctx, was.ID, wire.MemoryChange{Content: "No."})
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err), "it is not what this client has seen any more")
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(c.ForgetMemory(ctx, was.ID)))
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(c.ForgetMemory(ctx, "w99")))
	require.NoError(t, c.ForgetMemory(ctx, now.ID))
	assert.Empty(t, list())
}

func changesSchedules(t *testing.T, c *client.Client) {
	t.Helper()
	ctx := t.Context()
	all, err := c.Schedules(ctx)
	require.NoError(t, err)
	if assert.Len(t, all, 1) {
		assert.Equal(t, "0 7 * * * Europe/Berlin", all[0].When)
		assert.Equal(t, "report", all[0].Late)
		assert.True(t, all[0].Next.After(time.Now()))
	}
	one, err := c.Schedule(ctx, "news")
	require.NoError(t, err)
	assert.Equal(t, "schedule:news", one.Sender)
	assert.Empty(t, one.Runs)
	require.NoError(t, c.RemoveSchedule(ctx, "news"))
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(c.RemoveSchedule(ctx, "news")))
	_, err = c.Schedule(ctx, "news")
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
}
