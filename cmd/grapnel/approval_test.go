package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// TestAskSurvivesAKill: a daemon is killed while somebody is asked. The next one goes
// on with the turn and asks again; an answer to the old ask counts for nothing, and
// what is remembered holds in every process from then on.
func TestAskSurvivesAKill(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cmd, out := s.child()
	ctx := t.Context()
	conv, err := s.client.Conversation(ctx, "", "ann")
	require.NoError(t, err)
	turn, err := s.client.Send(ctx, conv.ID, "write")
	require.NoError(t, err)
	for item, err := range s.client.Follow(ctx, turn) {
		require.NoError(t, err)
		if item.Event.Kind == event.ApprovalAsked {
			break
		}
	}
	before, err := s.client.Asks(ctx, conv.ID)
	require.NoError(t, err)
	require.Len(t, before, 1)
	require.NoError(t, cmd.Process.Kill())
	_, _ = io.Copy(io.Discard, out)
	require.Error(t, cmd.Wait())
	file := filepath.Join(s.dir, "project", "new.txt")
	assert.NoFileExists(t, file)

	s.start()
	var after []wire.Ask
	require.Eventually(t, func() bool {
		after, err = s.client.Asks(ctx, conv.ID)
		return assert.NoError(t, err) && len(after) == 1
	}, time.Minute, time.Millisecond, "it is asked again")
	assert.NotEqual(t, before[0].ID, after[0].ID)
	assert.Equal(t, before[0].Args, after[0].Args)
	assert.Equal(t, turn.ID, after[0].Turn)
	err = s.client.Answer(ctx, before[0].ID, wire.Answer{Answer: wire.AnswerApprove})
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err), "%v", err)
	assert.NoFileExists(t, file)
	require.NoError(t, s.client.Answer(ctx, after[0].ID, wire.Answer{Answer: wire.AnswerApprove, Remember: "call-project"}))
	for item, err := range s.client.Follow(ctx, turn) {
		require.NoError(t, err)
		if item.Event.Kind == event.TurnEnd {
			assert.Equal(t, "It worked.", item.Event.Text)
		}
	}
	assert.FileExists(t, file)

	s.end()
	s.start()
	require.NoError(t, os.Remove(file))
	conv, err = s.client.Conversation(ctx, "", "bob")
	require.NoError(t, err)
	turn, err = s.client.Send(ctx, conv.ID, "write")
	require.NoError(t, err)
	for item, err := range s.client.Follow(ctx, turn) {
		require.NoError(t, err)
		if item.Event.Kind == event.ApprovalGiven {
			assert.Equal(t, "Approval.rule", item.Event.Detail().By)
		}
	}
	assert.FileExists(t, file)
}

// TestAskTimeoutFlags: approving on timeout has to be asked for, and is called what
// it is.
func TestAskTimeoutFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		timeout time.Duration
		action  string
		want    approval.Options
		noted   string
		err     string
	}{
		{time.Minute, "refuse", approval.Options{Timeout: time.Minute}, "", ""},
		{0, "refuse", approval.Options{Timeout: -1}, "", ""},
		{time.Minute, "approve", approval.Options{Timeout: time.Minute, OnTimeout: approval.ApproveOnTimeout}, "DANGEROUS: a call that nobody answers within 1m0s is approved", ""},
		{0, "approve", approval.Options{}, "", "--on-ask-timeout approve needs a time"},
		{-time.Second, "refuse", approval.Options{}, "", "--ask-timeout is -1s"},
		{time.Minute, "allow", approval.Options{}, "", `--on-ask-timeout is "allow"; write refuse or approve`},
	} {
		notes, err := os.Create(filepath.Join(t.TempDir(), "notes"))
		require.NoError(t, err)
		got, err := newCommand(nil, nil, notes, nil).asks(serveFlags{askTimeout: tt.timeout, onAskTimeout: tt.action})
		data, rerr := os.ReadFile(notes.Name())
		require.NoError(t, rerr)
		require.NoError(t, notes.Close())
		if tt.err != "" {
			assert.ErrorContains(t, err, tt.err)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, tt.want, got)
		assert.Equal(t, tt.noted == "", len(data) == 0)
		assert.Contains(t, string(data), tt.noted)
	}
}
