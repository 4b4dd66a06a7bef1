package policy_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

func TestAllowed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	a, err := policy.NewAllowed([]string{"Bash(git *)", "Bash(npm test:*)", "Read", "Write(src/**)", "mcp__gh__*"}, &policy.Options{Root: root})
	require.NoError(t, err)
	for _, tt := range []struct {
		tool string
		args message.JSON
		want bool
	}{
		{"bash", `{"command":"git log -5"}`, true},
		{"bash", `{"command":"git status && npm test"}`, true},
		{"bash", `{"command":"git status; rm -rf /"}`, false},
		{"bash", `{"command":"git log $(rm -rf /)"}`, false},
		{"bash", `{"command":"gitk"}`, false},
		{"bash", `{"command":"git log","env":{"GIT_PAGER":"rm"}}`, false},
		{"bash", `{}`, false},
		{"bash", `[`, false},
		{"read", `{"file_path":"/etc/passwd"}`, true},
		{"write", `{"file_path":"src/a.go"}`, true},
		{"write", `{"file_path":"src/../b.go"}`, false},
		{"edit", `{"file_path":"src/a.go"}`, false},
		{"mcp__gh__list", `{}`, true},
		{"mcp__ghost__list", `{}`, false},
		{"skill", `{"name":"x"}`, false},
	} {
		assert.Equal(t, tt.want, a.Allows(message.Tool{Name: tt.tool}, tt.args), "%s %s", tt.tool, tt.args)
	}
	for tool, want := range map[string]bool{"bash": true, "Bash": true, "write": true, "edit": false, "mcp__gh__x": true, "skill": false} {
		assert.Equal(t, want, a.Names(tool), tool)
	}
}

func TestAWrongRuleAllowsNothing(t *testing.T) {
	t.Parallel()
	a, err := policy.NewAllowed([]string{"Bash(git", "Read", "mcp__x__*(y)"}, nil)
	require.ErrorContains(t, err, `[0]: rule "Bash(git": the parenthesis is not closed`)
	require.ErrorContains(t, err, `[2]: rule "mcp__x__*(y)"`)
	assert.False(t, a.Names("bash"))
	assert.True(t, a.Allows(message.Tool{Name: "read"}, `{"file_path":"x"}`))
	none, err := policy.NewAllowed(nil, nil)
	require.NoError(t, err)
	assert.False(t, none.Allows(message.Tool{Name: "read"}, `{}`))
}
