package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api"
)

// TestDaemon goes through the life of a daemon as a client sees it, and answers
// every operation of the document at least once.
func TestDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := t.Context()

	health, err := w.client.Health(ctx)
	require.NoError(t, err)
	assert.Equal(t, wire.StatusOK, health.Status)
	assert.Equal(t, "/project", health.Root)
	assert.Equal(t, os.Getpid(), health.PID)

	conv := w.conversation("ann")
	again := w.conversation("ann")
	assert.Equal(t, conv, again)

	t.Log("two turns")
	events := w.turn(conv.ID, "hello")
	inOrder(t, events)
	assert.Equal(t, event.TurnStart, events[0].Kind)
	assert.Equal(t, "you said: hello", last(t, events).Text)
	assert.Equal(t, hook.StopCompleted, last(t, events).Detail().Stop)
	events = w.turn(conv.ID, "call fail {}\ncall echo {\"s\":\"x\"}")
	results := only(events, event.CallResult)
	require.Len(t, results, 2)
	failed := results[0]
	if failed.Detail().Tool != "fail" {
		failed = results[1]
	}
	assert.True(t, failed.Detail().Result.IsError())
	assert.Equal(t, message.FailOperation, failed.Detail().Result.Failure)
	assert.Equal(t, "it did not work", failed.Detail().Result.Text())

	t.Log("history")
	messages, err := w.client.Messages(ctx, conv.ID)
	require.NoError(t, err)
	var said []string
	for _, m := range messages {
		said = append(said, string(m.Role)+": "+m.Text()+m.Result.Text())
	}
	assert.Equal(t, []string{
		"user: hello", "assistant: you said: hello",
		"user: call fail {}\ncall echo {\"s\":\"x\"}", "assistant: ", "tool: it did not work", "tool: done x", "assistant: it answered: done x",
	}, said)
	stored, err := w.client.ConversationByID(ctx, conv.ID)
	require.NoError(t, err)
	assert.Equal(t, 2, stored.Turns)
	assert.Empty(t, stored.Turn)
	all, err := w.client.Conversations(ctx)
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, "hello", stored.Title)
	assert.Equal(t, stored, all[0])

	t.Log("agents")
	made, err := w.client.CreateAgent(ctx, wire.NewAgent{
		Name: "other", Instructions: "Be other.", Tools: []string{"echo"}, Limits: wire.Limits{Steps: 3, Time: "1m"},
		ToolChoice: message.ToolChoice{Mode: message.ToolChoiceAuto}, Sections: map[string]message.JSON{"box": `{"a":1}`},
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"echo"}, made.Tools)
	assert.Contains(t, made.Prompt, "Be other.")
	_, err = w.client.CreateAgent(ctx, wire.NewAgent{Name: "other"})
	assert.Equal(t, wire.CodeExists, client.CodeOf(err))
	none, err := w.client.CreateAgent(ctx, wire.NewAgent{Name: "none", Tools: []string{}})
	require.NoError(t, err)
	assert.Empty(t, none.Tools)
	agents, err := w.client.Agents(ctx)
	require.NoError(t, err)
	require.Len(t, agents, 3)
	assert.Equal(t, "helper", agents[0].Name)
	shown, err := w.client.Agent(ctx, "other")
	require.NoError(t, err)
	assert.Equal(t, made, shown)
	other, err := w.client.UpdateAgent(ctx, wire.NewAgent{Name: "other", Instructions: "Be another.", Tools: []string{}})
	require.NoError(t, err)
	assert.Contains(t, other.Prompt, "Be another.")
	assert.Empty(t, other.Tools)
	stats, err := w.client.Stats(ctx)
	require.NoError(t, err)
	require.Len(t, stats.Agents, 3)
	assert.Equal(t, wire.AgentStats{Agent: "none", Stops: map[hook.StopReason]int{}}, stats.Agents[1], "nobody counts here")
	_, err = w.client.Reload(ctx)
	assert.Equal(t, wire.CodeInvalid, client.CodeOf(err))
	assert.ErrorContains(t, err, "no file defines the agents")
	require.NoError(t, w.client.DeleteAgent(ctx, "other"))
	_, err = w.client.Agent(ctx, "other")
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
	assert.ErrorContains(t, err, "the registered agents are helper, none")

	t.Log("tools and plan")
	tools, err := w.client.Tools(ctx, "")
	require.NoError(t, err)
	assert.Len(t, tools, 8)
	plan, err := w.client.Plan(ctx)
	require.NoError(t, err)
	assert.Len(t, plan.Members, 4)

	t.Log("an ask approved, refused and modified")
	answer := func(a wire.Answer) func(hook.Event) {
		return func(ev hook.Event) {
			if ev.Kind != event.ApprovalAsked {
				return
			}
			asks, err := w.client.Asks(ctx, conv.ID)
			require.NoError(t, err)
			require.Len(t, asks, 1, "who has read the event finds the ask")
			assert.Equal(t, "danger", asks[0].Tool)
			assert.Equal(t, message.JSON(`{"s":"x"}`), asks[0].Args)
			assert.Equal(t, ev.Detail().CallID, asks[0].CallID)
			require.NoError(t, w.client.Answer(ctx, asks[0].ID, a))
			err = w.client.Answer(ctx, asks[0].ID, a)
			assert.Equal(t, wire.CodeAnswered, client.CodeOf(err), "the first answer counts")
		}
	}
	dangerous := "call danger {\"s\":\"x\"}"
	for _, tt := range []struct {
		answer wire.Answer
		end    string
	}{
		{wire.Answer{Answer: wire.AnswerApprove}, "it answered: done x"},
		{wire.Answer{Answer: wire.AnswerRefuse, Reason: "not today"}, "it answered: not today"},
		{wire.Answer{Answer: wire.AnswerModify, Args: `{"s":"y"}`}, "it answered: done y"},
	} {
		turn, err := w.client.Send(ctx, conv.ID, dangerous)
		require.NoError(t, err)
		events := w.follow(turn, answer(tt.answer))
		assert.Equal(t, tt.end, last(t, events).Text)
		given := only(events, event.ApprovalGiven)
		require.Len(t, given, 1)
		assert.Equal(t, "Approval.api", given[0].Detail().By)
	}
	assert.Equal(t, []string{"x", "y"}, w.box.ran)

	t.Log("busy, and cancelled")
	turn, err := w.client.Send(ctx, conv.ID, "call hold {}")
	require.NoError(t, err)
	<-w.box.held
	_, err = w.client.Send(ctx, conv.ID, "hello")
	assert.Equal(t, wire.CodeBusy, client.CodeOf(err))
	running, err := w.client.ConversationByID(ctx, conv.ID)
	require.NoError(t, err)
	assert.Equal(t, turn.ID, running.Turn)
	cancelled, err := w.client.Cancel(ctx, conv.ID)
	require.NoError(t, err)
	assert.Equal(t, wire.Cancelled{Cancelled: true, Turn: turn.ID}, cancelled)
	assert.Equal(t, hook.StopCancelled, last(t, w.follow(turn, nil)).Detail().Stop)
	cancelled, err = w.client.Cancel(ctx, conv.ID)
	require.NoError(t, err)
	assert.False(t, cancelled.Cancelled)

	t.Log("everything that happens")
	health, err = w.client.Health(ctx)
	require.NoError(t, err)
	require.NoError(t, w.client.DeleteAgent(ctx, "none"))
	for item, err := range w.client.Events(ctx, "", health.LastEventID) {
		require.NoError(t, err)
		assert.Equal(t, event.AgentUnregistered, item.Event.Kind)
		break
	}
	for item, err := range w.client.Events(ctx, conv.ID, conv.LastEventID) {
		require.NoError(t, err)
		assert.Equal(t, uint64(1), item.Event.Seq)
		break
	}

	t.Log("questions, and nothing to resume")
	w.asks(conv.ID)
	_, err = w.client.Resume(ctx, conv.ID)
	assert.Equal(t, wire.CodeIdle, client.CodeOf(err))

	t.Log("no call waits for a client")
	waiting, err := w.client.Calls(ctx, conv.ID)
	require.NoError(t, err)
	assert.Empty(t, waiting)
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(w.client.AnswerCall(ctx, conv.ID, "c1", wire.CallResult{Text: "x"})))

	t.Log("forks, searches, moves")
	w.branches("eve")

	_, err = w.client.Undo(ctx, conv.ID, wire.NewUndo{})
	assert.Equal(t, wire.CodeInvalid, client.CodeOf(err), "without snapshots there is none")

	_, err = w.client.Delete(ctx, wire.Deletion{Conversation: conv.ID})
	assert.Equal(t, wire.CodeInvalid, client.CodeOf(err), "nothing here deletes")

	_, err = w.client.Adopt(ctx, conv.ID, wire.Adoption{})
	assert.Equal(t, wire.CodeExists, client.CodeOf(err), "it is here already")

	t.Log("stop, start, and the conversation goes on")
	w.end()
	_, err = w.direct.Health(ctx)
	require.ErrorIs(t, err, client.ErrNotRunning)
	_, err = os.Stat(w.socket())
	require.ErrorIs(t, err, os.ErrNotExist)
	w.start()
	events = w.turn(conv.ID, "are you there?")
	assert.Equal(t, "you said: are you there?", last(t, events).Text)
	stored, err = w.client.ConversationByID(ctx, conv.ID)
	require.NoError(t, err)
	assert.Equal(t, 8, stored.Turns)

	t.Log("pages, which come over TCP")
	_, err = w.client.Link(ctx, wire.NewLink{})
	assert.Equal(t, wire.CodeIdle, client.CodeOf(err))
	assert.Equal(t, http.StatusNotFound, w.answer(http.MethodGet, "/enter?code=x"))
	assert.Equal(t, http.StatusNoContent, w.answer(http.MethodDelete, "/v1/session"))

	for _, path := range []string{"/", "/page/app.js"} {
		assert.Equal(t, http.StatusNotFound, w.answer(http.MethodGet, path))
	}
	me, err := w.client.Me(ctx)
	require.NoError(t, err)
	assert.Len(t, me.Scopes, 4)
	_, err = w.client.Sandbox(ctx)
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err), "there is none here")

	t.Log("a turn and its calls, which call nothing")
	turns, err := w.client.Turns(ctx, conv.ID, "", 1)
	require.NoError(t, err)
	require.Len(t, turns, 1)
	told, err := w.client.Turn(ctx, conv.ID, turns[0].ID)
	require.NoError(t, err)
	assert.Equal(t, turns[0], told.Turn)
	_, err = w.client.ExplainCall(ctx, conv.ID, turns[0].ID, "c1")
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))

	t.Log("what it does, and probes")
	active, err := w.client.Activity(ctx)
	require.NoError(t, err)
	assert.Empty(t, active.Turns)
	assert.Equal(t, http.StatusOK, w.answer(http.MethodGet, "/healthz"))
	assert.Equal(t, http.StatusOK, w.answer(http.MethodGet, "/readyz"))
	assert.Equal(t, http.StatusNotFound, w.answer(http.MethodGet, "/metrics"), "nobody counts here")
	_, err = w.client.LogLevel(ctx)
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(w.client.SetLogLevel(ctx, "debug")))

	nodes, err := w.client.Nodes(ctx)
	require.NoError(t, err)
	assert.Empty(t, nodes, "it shares its store with nobody")

	t.Log("what people ask of the program")
	prompt, err := w.client.Prompt(ctx, "helper")
	require.NoError(t, err)
	assert.Equal(t, "Help.", prompt.Parts[0].Text)
	models, err := w.client.Models(ctx, false)
	require.NoError(t, err)
	assert.Empty(t, models.Models)
	spent, err := w.client.Spending(ctx, "model", "7d")
	require.NoError(t, err)
	assert.Zero(t, spent.Total.Calls, "no ledger keeps it here")
	audit, err := w.client.Audit(ctx, 10, "")
	require.NoError(t, err)
	assert.True(t, audit.Off)

	t.Log("jobs")
	jobs, err := w.client.Jobs(ctx, wire.JobFilter{})
	require.NoError(t, err)
	assert.Empty(t, jobs)
	_, err = w.client.Job(ctx, 1)
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
	_, err = w.client.ChangeJob(ctx, 1, wire.JobChange{Change: "retry"})
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))

	t.Log("servers, memories and schedules")
	servers, err := w.client.Servers(ctx)
	require.NoError(t, err)
	assert.Empty(t, servers)
	memories, err := w.client.Memories(ctx, wire.MemoryFilter{})
	require.NoError(t, err)
	assert.Zero(t, memories.Total)
	_, err = w.client.ChangeMemory(ctx, "1-1", wire.MemoryChange{Approve: true})
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(w.client.ForgetMemory(ctx, "1-1")))
	schedules, err := w.client.Schedules(ctx)
	require.NoError(t, err)
	assert.Empty(t, schedules)
	_, err = w.client.Schedule(ctx, "news")
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(w.client.RemoveSchedule(ctx, "news")))

	t.Log("one event")
	status, _ := w.whole(fmt.Sprintf("/v1/conversations/%s/events/%d-%d", conv.ID, last(t, events).Epoch, last(t, events).Seq))
	assert.Equal(t, http.StatusOK, status)

	for _, r := range w.server.Routes() {
		assert.True(t, w.contract.seen[r.Method+" "+r.Path], "%s %s was not answered in this test", r.Method, r.Path)
	}
}

func TestHealthCountsAbandonedCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv := w.conversation("ann")
	w.turn(conv.ID, "call deaf {}")
	health, err := w.client.Health(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []wire.Abandoned{{Tool: "deaf", Count: 1}}, health.Abandoned)
	w.box.release <- struct{}{}
	assert.EventuallyWithT(t, func(t *assert.CollectT) {
		health, err := w.direct.Health(context.Background())
		assert.NoError(t, err)
		assert.Empty(t, health.Abandoned)
	}, time.Minute, time.Millisecond)
}

// TestReload: what a reload has done, and what it could not do, is said as the document has it.
func TestReload(t *testing.T) {
	t.Parallel()
	want := wire.Reloaded{Added: []string{"a"}, Updated: []string{"b"}, Removed: []string{"c"}, Unchanged: 1, Refused: []wire.Refused{{Agent: "d", Why: "no"}},
		Settings: []wire.ChangedSetting{{File: "config.yaml", Setting: "spending.day", NeedsRestart: true}, {File: "x", NeedsRestart: true, Problem: "wrong"}}}
	failure := errors.New("a.md:1:1: wrong")
	var fails error
	counted := []wire.AgentStats{{Agent: "gone", Turns: 2, Stops: map[hook.StopReason]int{hook.StopCompleted: 2}, Steps: 3, Cost: 5, Millis: 7, Last: time.Now().UTC()}}
	w := newWorld(t, &worldOptions{api: api.Options{
		Reload: func(context.Context) (wire.Reloaded, error) { return want, fails },
		Stats:  func() []wire.AgentStats { return counted },
	}})
	got, err := w.client.Reload(t.Context())
	require.NoError(t, err)
	assert.Equal(t, want, got)
	fails = failure
	_, err = w.client.Reload(t.Context())
	assert.Equal(t, wire.CodeConfig, client.CodeOf(err))
	assert.ErrorContains(t, err, "a.md:1:1: wrong")

	stats, err := w.client.Stats(t.Context())
	require.NoError(t, err)
	require.Len(t, stats.Agents, 2)
	assert.Equal(t, counted[0], stats.Agents[0])
	assert.Equal(t, "helper", stats.Agents[1].Agent)
}
