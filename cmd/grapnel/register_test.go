package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/event"
)

// writeFiles writes files of the project, by their paths.
func (s *site) writeFiles(files map[string]string) {
	s.t.Helper()
	for name, text := range files {
		path := filepath.Join(s.dir, "project", name)
		require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(s.t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// An agent that uses a server which does not answer waits for it alone: the daemon
// serves all others, and says what is waited for.
func TestAServerThatDoesNotAnswerHoldsUpItsAgentAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.args = []string{"--start-servers"}
	s.writeFiles(map[string]string{
		".mcp.json": `{"mcpServers": {
			"deaf": {"command": "sleep", "args": ["600"], "required": true},
			"off": {"command": "touch", "args": ["started"], "disabled": true}}}`,
		".grapnel/agents/free.md": "---\ndescription: Uses no server.\ntools: [read]\n---\nHelp.\n",
	})
	s.start()
	conv, err := s.client.Conversation(t.Context(), "free", "me")
	require.NoError(t, err)
	events := s.turn(conv.ID, "Say something.", nil)
	assert.Equal(t, event.TurnEnd, events[len(events)-1].Kind)
	agents, err := s.client.Agents(t.Context())
	require.NoError(t, err)
	require.Len(t, agents, 1, "the other one still waits")
	assert.Equal(t, "free", agents[0].Name)
	assert.Equal(t, "note: waiting for the MCP server deaf (1s so far)\n", s.line())
	s.end()
	assert.NoFileExists(t, filepath.Join(s.dir, "project", "started"))
}

// A server that dies costs the agent that requires it, with its last words, and nobody else.
func TestARequiredServerThatDies(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.args = []string{"--start-servers"}
	s.writeFiles(map[string]string{
		".mcp.json":               `{"mcpServers": {"dies": {"command": "sh", "args": ["-c", "printf 'no \\033[31mlicence\\n' >&2; exit 3"], "required": true}}}`,
		".grapnel/agents/free.md": "---\ndescription: Uses no server.\ntools: [read]\n---\nHelp.\n",
	})
	s.start()
	_, err := s.client.Conversation(t.Context(), "", "me")
	require.ErrorContains(t, err, `there is no agent "grapnel": `)
	require.ErrorContains(t, err, "the MCP server dies, which is required, is not there: it ended while it was started (exit status 3)")
	_, err = s.client.Conversation(t.Context(), "free", "me")
	require.NoError(t, err)
	for _, want := range []string{"note: the MCP server dies is not there: it ended while it was started (exit status 3); the end of its stderr: no ", "note: the agent grapnel is not registered: "} {
		line := s.line()
		assert.Contains(t, line, want)
		assert.NotContains(t, line, "\x1b")
	}
}
