package demo

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/node"
)

// TestMain is the demo's server when a test starts it again as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == ServerCommand {
		if err := Serve(context.Background()); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func TestCount(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want Statistics
	}{
		{"", Statistics{}},
		{"   \n", Statistics{Characters: 4}},
		{"One.", Statistics{Words: 1, Sentences: 1, Characters: 4, Longest: "One"}},
		{"No end", Statistics{Words: 2, Sentences: 1, Characters: 6, Longest: "end"}},
		{"Really?! Yes... - Ähre, 3,5 kn", Statistics{Words: 5, Sentences: 3, Characters: 30, Longest: "Really"}},
		{"... !", Statistics{Characters: 5}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, count(tt.text))
		})
	}
}

func TestServer(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: exec.Command(self, ServerCommand)}, nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, session.Close()) }()

	tests := []struct {
		name, tool string
		args       map[string]any
		want       string
		failed     bool
	}{
		{"length", "convert", map[string]any{"value": 94, "from": "nmi", "to": "km"}, `{"unit":"km","value":174.088}`, false},
		{"speed", "convert", map[string]any{"value": 7.4, "from": "kn", "to": "km/h"}, `{"unit":"km/h","value":13.705}`, false},
		{"two kinds", "convert", map[string]any{"value": 1, "from": "km", "to": "kn"}, "km is a length and kn a speed: nothing to convert", true},
		{"unknown", "convert", map[string]any{"value": 1, "from": "mile", "to": "km"}, `unknown unit "mile"; known are m, km, nmi, ft, m/s, km/h, kn`, true},
		{"words", "statistics", map[string]any{"text": "Short and wet."}, `{"characters":14,"longest_word":"Short","sentences":1,"words":3}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tt.tool, Arguments: tt.args})
			require.NoError(t, err)
			assert.Equal(t, tt.failed, r.IsError)
			require.Len(t, r.Content, 1)
			assert.Equal(t, tt.want, r.Content[0].(*mcp.TextContent).Text)
		})
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		tool string
		args message.JSON
		want hook.Answer
	}{
		{"bash", `{"command":"sleep 0.4 && sh .agents/skills/logbook/scripts/distance.sh log"}`, hook.AnswerApprove},
		{"bash", `{"command":"rm -r log; sh .agents/skills/logbook/scripts/distance.sh log"}`, hook.AnswerRefuse},
		{"bash", `{"command":"rm -r log"}`, hook.AnswerRefuse},
		{"bash", `{"command":"sleep 0.4 && sh .agents/skills/logbook/scripts/distance.sh log","needs":["outside"]}`, hook.AnswerRefuse},
		{"write", `{"file_path":"summary.md","content":"x"}`, hook.AnswerApprove},
		{"write", `{"file_path":"log/day-1.md","content":"x"}`, hook.AnswerRefuse},
		{"remember", `{"name":"last voyage","content":"x"}`, hook.AnswerApprove},
		{"remember", `{"name":"other","content":"x"}`, hook.AnswerRefuse},
		{"mcp__chartroom__convert", `{"value":1}`, hook.AnswerApprove},
		{"mcp__other__convert", `{"value":1}`, hook.AnswerRefuse},
	}
	var a answers
	for _, tt := range tests {
		reply, err := a.approve(hook.ApprovalRequest{Tool: tt.tool, Args: tt.args})
		require.NoError(t, err)
		assert.Equal(t, tt.want, reply.Answer, "%s %s", tt.tool, tt.args)
	}
	yes, no := a.counts()
	assert.Equal(t, [2]int{4, 6}, [2]int{yes, no})
}

func TestLay(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	for range 2 { // the second time over the first
		require.NoError(t, lay(dir, "/bin/grapnel"))
	}
	for _, file := range []string{
		"log/day-1.md", "log/day-3.md", ".agents/skills/logbook/SKILL.md", ".agents/skills/logbook/scripts/distance.sh",
		".agents/skills/logbook/references/style.md",
		".grapnel/agents/skipper.md", ".grapnel/skipper.yaml", ".grapnel/agents/mate.md", ".grapnel/mate.yaml",
	} {
		assert.FileExists(t, filepath.Join(dir, file))
	}
	servers, err := os.ReadFile(filepath.Join(dir, ".mcp.json"))
	require.NoError(t, err)
	assert.JSONEq(t, `{"mcpServers":{"chartroom":{"command":"/bin/grapnel","args":["demo-mcp-server"],"reads":["*"]}}}`, string(servers))

	other := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(other, "mine.txt"), nil, 0o600))
	assert.ErrorContains(t, lay(other, ""), "is not empty and no directory of the demo")
	assert.ErrorContains(t, lay(filepath.Join(other, "mine.txt"), ""), "mine.txt")
}

// TestSkillScript runs the script that the bundled skill brings.
func TestSkillScript(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "sh", "project/skills/logbook/scripts/distance.sh", "project/log").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "94 nmi in 3 days\n", string(out))
}

// TestSkillIsValid asks a validator that nobody here wrote.
func TestSkillIsValid(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), node.Require(t, "skills-ref"), "validate", "project/skills/logbook").CombinedOutput()
	assert.NoError(t, err, "%s", out)
}
