package daemon_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/daemon"
)

// far runs a daemon over TCP until the test ends, and returns a client with a token for its project that has the scopes.
func far(t *testing.T, paths app.Paths, scopes ...access.Scope) *client.Client {
	t.Helper()
	token, err := access.OpenTokens(filepath.Join(paths.State, "tokens.json")).Create(access.Token{Name: "far-" + filepath.Base(paths.Root), Scopes: scopes, Projects: []string{paths.Project()}})
	require.NoError(t, err)
	d, err := daemon.Open(t.Context(), daemon.Options{Socket: socket(t), Listen: daemon.Listen{Address: "127.0.0.1:0"}, App: app.Options{Paths: paths, Sandbox: "off", Note: note}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-ended)
	})
	return client.New(d.URLs()[0], &client.Options{Token: token})
}

// TestAMessageReadsNoFile: who may converse names a model, and learns nothing of the files of the daemon's user by that.
func TestAMessageReadsNoFile(t *testing.T) {
	t.Parallel()
	paths := project(t)
	c := far(t, paths, access.Read, access.Converse)
	secret := filepath.Join(paths.Home, "shadow")
	require.NoError(t, os.WriteFile(secret, []byte("root:$6$canary:20228:0:99999:7:::\n"), 0o600))
	conv, err := c.Conversation(t.Context(), "helper", "ann")
	require.NoError(t, err)
	_, there := c.SendMessage(t.Context(), conv.ID, wire.NewMessage{Text: "hi", Model: message.Model{Name: "script:" + secret}})
	require.Error(t, there)
	assert.NotContains(t, there.Error(), "canary")
	_, missing := c.SendMessage(t.Context(), conv.ID, wire.NewMessage{Text: "hi", Model: message.Model{Name: "script:" + filepath.Join(paths.Home, "nothin")}})
	require.Error(t, missing)
	assert.NotContains(t, missing.Error(), "does not exist", "nor which files are there")
}

// TestWhoMayNotApproveMakesNoAgentThatNeedsNoApproval: an agent of a client has no policy that allows more.
func TestWhoMayNotApproveMakesNoAgentThatNeedsNoApproval(t *testing.T) {
	t.Parallel()
	paths := project(t)
	require.NoError(t, os.WriteFile(filepath.Join(paths.Root, "runs.yaml"), []byte(
		"rules:\n- when: {step: 1}\n  calls: [{tool: bash, args: {command: \"echo x > ran.txt\"}}]\n- {when: always, say: Done.}\n"), 0o600))
	c := far(t, paths, access.Read, access.Converse, access.Administer)
	_, err := c.CreateAgent(t.Context(), wire.NewAgent{
		Name: "free", Model: "script:" + filepath.Join(paths.Root, "runs.yaml"), Sections: map[string]message.JSON{"policy": `{"allow":["Bash"]}`},
	})
	if err != nil {
		return // it was refused
	}
	conv, err := c.Conversation(t.Context(), "free", "ann")
	require.NoError(t, err)
	turn, err := c.Send(t.Context(), conv.ID, "begin")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		asks, err := c.Asks(t.Context(), conv.ID)
		require.NoError(t, err)
		now, err := c.Activity(t.Context())
		require.NoError(t, err)
		return len(asks) > 0 || len(now.Turns) == 0
	}, time.Minute, 10*time.Millisecond)
	assert.NoFileExists(t, filepath.Join(paths.Root, "ran.txt"), "turn %s ran a command that nobody has approved", turn.ID)
	_, err = c.Cancel(t.Context(), conv.ID)
	require.NoError(t, err)
}

// TestATokenOfOneProjectReadsNoMemoriesOfAnother: an agent that a client makes has the memories of all projects no more than one of a file
// that nobody has approved.
func TestATokenOfOneProjectReadsNoMemoriesOfAnother(t *testing.T) {
	t.Parallel()
	mine := project(t)
	dir := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.Mkdir(dir, 0o700))
	theirs, err := app.FindPaths(dir, func(name string) string {
		return map[string]string{"HOME": mine.Home, "GRAPNEL_HOME": mine.State}[name]
	})
	require.NoError(t, err)
	said := func(paths app.Paths, rules string) string {
		model := filepath.Join(paths.Root, "memories.yaml")
		require.NoError(t, os.WriteFile(model, []byte(rules), 0o600))
		c := far(t, paths, access.Read, access.Converse, access.Administer)
		_, err := c.CreateAgent(t.Context(), wire.NewAgent{Name: "usr", Model: "script:" + model, Sections: map[string]message.JSON{"memory": `{"scope":"user"}`}})
		if err != nil {
			return "" // it was refused
		}
		conv, err := c.Conversation(t.Context(), "usr", "ann")
		require.NoError(t, err)
		turn, err := c.Send(t.Context(), conv.ID, "the pin")
		require.NoError(t, err)
		text := ""
		for item, err := range c.Follow(t.Context(), turn) {
			require.NoError(t, err)
			text += item.Event.Text
		}
		return text
	}
	said(theirs, "rules:\n- when: {step: 1}\n  calls: [{tool: remember, args: {name: pin, content: \"The pin of the project is qzcanary.\"}}]\n- {when: always, say: Done.}\n")
	assert.NotContains(t, said(mine, "rules:\n- when: {step: 1}\n  calls: [{tool: recall, args: {query: pin}}]\n- {when: always, say: \"${result}\"}\n"), "qzcanary")
}
