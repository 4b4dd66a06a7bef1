package api_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

const theirs = "/their's"

// projects is a daemon of /mine over a store that has a conversation of ann with each
// project, each with a turn that was interrupted. logged is what the daemon has said.
func projects(t *testing.T, resumes bool) (w *world, recs map[string]store.Record, logged *bytes.Buffer) {
	t.Helper()
	st, recs := mem.New(&mem.Options{Journal: true}), map[string]store.Record{}
	for _, project := range []string{"/mine", theirs, "/gone", ""} {
		rec, err := st.Conversation(t.Context(), store.Key{Project: project, Agent: "helper", Sender: "ann"})
		require.NoError(t, err)
		_, err = st.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("canary of " + project)), Entries: []store.Entry{
			{Kind: store.EntryTurn, Data: message.JSON(`{"id":"t` + project + `","number":1,"project":"` + project + `"}`)},
		}})
		require.NoError(t, err)
		recs[project] = rec
	}
	logged = &bytes.Buffer{}
	w = newWorld(t, &worldOptions{store: st, api: api.Options{
		Project: "/mine", Abandoned: func(p string) bool { return p == "/gone" }, ResumeAll: resumes,
		Log:         func(text string) { logged.WriteString(text + "\n") },
		Interrupted: func(rec store.Record) bool { return rec.Journaled },
	}})
	return w, recs, logged
}

func ids(convs []wire.Conversation) (out []string) {
	for _, c := range convs {
		out = append(out, c.Project+" "+c.ID)
	}
	return out
}

func TestAConversationOfAnotherProjectIsListedIfAskedForAndNothingElse(t *testing.T) {
	t.Parallel()
	w, recs, _ := projects(t, false)
	ctx := t.Context()
	own, err := w.client.Conversations(ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{"/mine " + recs["/mine"].ID}, ids(own))
	all, err := w.client.AllConversations(ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{"before " + recs[""].ID, "/gone " + recs["/gone"].ID, "/mine " + recs["/mine"].ID, theirs + " " + recs[theirs].ID}, ids(all))
	assert.Equal(t, recs["/mine"].ID, w.conversation("ann").ID, "one sender has a conversation in each project")

	id, before := recs[theirs].ID, recs[""].ID
	try := func(_ any, err error) error { return err }
	for name, err := range map[string]error{
		"show":     try(w.client.ConversationByID(ctx, id)),
		"messages": try(w.client.Messages(ctx, id)),
		"tasks":    try(w.client.Tasks(ctx, id)),
		"send":     try(w.client.Send(ctx, id, "hi")),
		"steer":    try(w.client.SendWhenBusy(ctx, id, "hi", wire.BusySteer)),
		"cancel":   try(w.client.Cancel(ctx, id)),
		"resume":   try(w.client.Resume(ctx, id)),
		"fork":     try(w.client.Fork(ctx, id, wire.NewFork{Sender: "x"})),
		"rewind":   try(w.client.Rewind(ctx, id, wire.Rewind{})),
		"undo":     try(w.client.Undo(ctx, id, wire.NewUndo{})),
		"compact":  try(w.client.Compact(ctx, id, wire.NewCompaction{})),
		"export":   w.client.Export(ctx, id, &bytes.Buffer{}),
		"adopt":    try(w.client.Adopt(ctx, id, wire.Adoption{})),
		"events":   eventsOf(ctx, w, id),
	} {
		assert.Equal(t, wire.CodeProject, client.CodeOf(err), "%s: %v", name, err)
		assert.EqualError(t, err, "conversation "+id+" belongs to the project "+theirs+`: cd '/their'\''s' && grapnel conversations`, name)
	}
	for range 2 { // what was refused once is not known better afterwards
		_, err = w.client.Messages(ctx, id)
		assert.Equal(t, wire.CodeProject, client.CodeOf(err))
	}
	_, err = w.client.Resume(ctx, before)
	assert.ErrorContains(t, err, "belongs to the project before: it is older than projects; grapnel conversations adopt "+before+" moves it here")
	_, err = w.client.Resume(ctx, recs["/gone"].ID)
	assert.ErrorContains(t, err, "which no longer exists; grapnel conversations adopt "+recs["/gone"].ID)
	rec, err := w.store.Conversation(ctx, recs[theirs].Key)
	require.NoError(t, err)
	assert.True(t, rec.Journaled && rec.Version == 1 && rec.Lease.Epoch == 0, "nobody has touched it: %+v", rec)
}

func eventsOf(ctx context.Context, w *world, id string) error {
	for _, err := range w.client.Events(ctx, id, "") {
		return err
	}
	return nil
}

func TestASearchStaysInTheProjectUnlessItIsAskedForAll(t *testing.T) {
	t.Parallel()
	w, recs, _ := projects(t, false)
	found, err := w.client.Search(t.Context(), client.Query{Text: "canary"})
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, recs["/mine"].ID, found[0].Conversation)
	found, err = w.client.Search(t.Context(), client.Query{Text: "canary", All: true})
	require.NoError(t, err)
	assert.Len(t, found, 4)
}

func TestADaemonResumesTheTurnsOfItsOwnProjectOnly(t *testing.T) {
	t.Parallel()
	w, recs, logged := projects(t, true)
	require.Eventually(t, func() bool {
		rec, err := w.store.Conversation(t.Context(), recs["/mine"].Key)
		return err == nil && !rec.Journaled
	}, time.Minute, 10*time.Millisecond)
	w.end()
	for project, was := range recs {
		rec, err := w.store.Conversation(t.Context(), was.Key)
		require.NoError(t, err)
		assert.Equal(t, project != "/mine", rec.Journaled, project)
		assert.Equal(t, project == "/mine", strings.Contains(logged.String(), rec.ID), project)
	}
}

func TestAnAdoptedTurnIsResumedOnlyIfAsked(t *testing.T) {
	t.Parallel()
	w, recs, logged := projects(t, false)
	ctx := t.Context()
	_, err := w.client.Adopt(ctx, recs[""].ID, wire.Adoption{})
	assert.Equal(t, wire.CodeExists, client.CodeOf(err), "ann has one here")
	// The daemon comes to these senders before ann, whose turn it resumes.
	for project, sender := range map[string]string{"": "a-old", "/gone": "a-moved"} {
		conv, err := w.client.Adopt(ctx, recs[project].ID, wire.Adoption{Agent: "helper", Sender: sender})
		require.NoError(t, err)
		assert.Equal(t, []any{recs[project].ID, "/mine", sender, true}, []any{conv.ID, conv.Project, conv.Sender, conv.Interrupted})
	}
	_, err = w.client.Adopt(ctx, recs[""].ID, wire.Adoption{Sender: "again"})
	assert.Equal(t, wire.CodeExists, client.CodeOf(err))

	w.end()
	w.o.api.ResumeAll = true
	w.start()
	require.Eventually(t, func() bool {
		rec, err := w.store.Conversation(ctx, recs["/mine"].Key)
		return err == nil && !rec.Journaled
	}, time.Minute, 10*time.Millisecond)
	w.end()
	assert.NotContains(t, logged.String(), recs[""].ID)
	assert.Contains(t, logged.String(), "conversation "+recs["/mine"].ID+" of helper: the interrupted turn t/mine is resumed\n")
	w.o.api.ResumeAll = false
	w.start()
	turn, err := w.client.Resume(ctx, recs["/gone"].ID)
	require.NoError(t, err)
	assert.Equal(t, "t/gone", turn.ID, "it is the turn that was interrupted")
	assert.Equal(t, hook.StopCompleted, last(t, w.follow(turn, nil)).Detail().Stop)
	assert.Equal(t, "you said: hi", last(t, w.turn(recs[""].ID, "hi")).Text)
}

func TestAnImportIsOfTheDaemonsProject(t *testing.T) {
	t.Parallel()
	w, recs, _ := projects(t, false)
	w.turn(w.conversation("bob").ID, "hello")
	var file bytes.Buffer
	require.NoError(t, w.client.Export(t.Context(), w.conversation("bob").ID, &file))
	assert.NotContains(t, file.String(), "/mine", "a file says nothing of projects")
	conv, err := w.client.Import(t.Context(), &file, "", "copy")
	require.NoError(t, err)
	assert.Equal(t, "/mine", conv.Project)
	claims := `{"format":"grapnel conversation","version":1,"agent":"helper","sender":"x","project":"` + recs[theirs].Key.Project +
		`","created":"2026-05-06T07:08:09Z","turns":0,"archived":0,"messages":0}` + "\n"
	_, err = w.client.Import(t.Context(), strings.NewReader(claims), "", "")
	assert.Equal(t, wire.CodeInvalid, client.CodeOf(err))
	assert.ErrorContains(t, err, "project")
}

// A daemon that still has the conversation in memory finds out that it has gone.
func TestAConversationThatWasAdoptedAwayIsNotWrittenTo(t *testing.T) {
	t.Parallel()
	w, _, _ := projects(t, false)
	conv := w.conversation("bob")
	w.turn(conv.ID, "hello")
	_, err := w.store.(store.Adopter).Adopt(t.Context(), conv.ID, store.Claim{Owner: "other", Hold: time.Minute}, store.Key{Project: theirs, Agent: "helper", Sender: "bob"})
	require.NoError(t, err)
	_, err = w.client.Send(t.Context(), conv.ID, "still there?")
	assert.Equal(t, wire.CodeProject, client.CodeOf(err), "%v", err)
	runs, err := dialog.Conversation(t.Context(), w.rt, "helper", "bob")
	require.NoError(t, err)
	_, err = dialog.Send(t.Context(), runs, message.TextInput("still there?"), nil)
	require.ErrorIs(t, err, store.ErrUnknown)
	messages, err := w.store.Messages(t.Context(), conv.ID)
	require.NoError(t, err)
	assert.Len(t, messages, 2)
	fresh := w.conversation("bob")
	assert.NotEqual(t, conv.ID, fresh.ID)
	assert.Equal(t, "you said: hi", last(t, w.turn(fresh.ID, "hi")).Text)
}
