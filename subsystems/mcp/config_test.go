package mcp_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/subsystems/mcp"
)

func lookup(name string) (string, bool) {
	value, ok := map[string]string{"SET": "value", "EMPTY": ""}[name]
	return value, ok
}

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		servers    []mcp.Server
		warnings   []string
	}{
		{
			name: "order, defaults and all keys",
			text: `{"mcpServers":{"z":{"command":"c"},"a":{"type":"stdio","command":"d","args":["x"],"env":{"K":"v"},
				"timeout":2500,"alwaysLoad":true,"destructive":false}}}`,
			servers: []mcp.Server{
				{Name: "z", Command: "c"},
				{Name: "a", Command: "d", Args: []string{"x"}, Env: map[string]string{"K": "v"},
					Timeout: 2500 * time.Millisecond, Harmless: true},
			},
		},
		{
			name: "variables",
			text: `{"mcpServers":{"a":{"command":"${SET}/${NONE:-def}","args":["${NONE}","${NONE:-}","${EMPTY:-d}","$SET","${A-B}"],"env":{"K":"${SET}"}}}}`,
			servers: []mcp.Server{{Name: "a", Command: "value/def", Args: []string{"${NONE}", "", "", "$SET", "${A-B}"},
				Env: map[string]string{"K": "value"}}},
			warnings: []string{`server "a": args names the variable NONE, which is not set`},
		},
		{
			name: "other transports",
			text: `{"mcpServers":{"h":{"type":"http","url":"https://h/"},"u":{"url":"https://h/"},"s":{"type":"sse","url":"x"},"w":{"type":"ws"},"ok":{"command":"c"}}}`,
			servers: []mcp.Server{
				{Name: "h", Refused: "the transport http is not supported, only stdio is"},
				{Name: "u", Refused: "the transport http is not supported, only stdio is"},
				{Name: "s", Refused: "the transport sse is not supported, only stdio is"},
				{Name: "w", Refused: "the transport ws is not supported, only stdio is"},
				{Name: "ok", Command: "c"},
			},
			warnings: []string{
				`server "h" cannot be used: the transport http is not supported, only stdio is`,
				`server "u" cannot be used: the transport http is not supported, only stdio is`,
				`server "s" cannot be used: the transport sse is not supported, only stdio is`,
				`server "w" cannot be used: the transport ws is not supported, only stdio is`,
			},
		},
		{
			name: "wrong entries leave the others",
			text: `{"x":1,"mcpServers":{"a":{"command":1},"b":{},"c d":{"command":"c"},"e":[],"f":{"command":"c","Args":[],"timeout":10},
				"g":{"command":"c","args":["x",2]},"h":{"type":"pipe","command":"c"},"i":{"command":"c","command":"d"}}}`,
			servers: []mcp.Server{
				{Name: "a", Refused: "command must be a string"},
				{Name: "b", Refused: "it has no command"},
				{Name: "c d", Command: "c", Refused: "its name must consist of letters, digits, _ and -"},
				{Name: "e", Refused: "must be a JSON object"},
				{Name: "f", Command: "c"},
				{Name: "g", Command: "c", Refused: "args must be a list of strings"},
				{Name: "h", Command: "c", Refused: "its type must be stdio, http, sse or ws"},
				{Name: "i", Command: "c", Refused: `"command" is given twice`},
			},
			warnings: []string{
				`the key "x" has no effect; servers are declared under mcpServers`,
				`server "a" cannot be used: command must be a string`,
				`server "b" cannot be used: it has no command`,
				`server "c d" cannot be used: its name must consist of letters, digits, _ and -`,
				`server "e" cannot be used: must be a JSON object`,
				`server "f": the key "Args" has no effect`,
				`server "f": a timeout below 1000 (milliseconds) has no effect`,
				`server "g" cannot be used: args must be a list of strings`,
				`server "h" cannot be used: its type must be stdio, http, sse or ws`,
				`server "i" cannot be used: "command" is given twice`,
			},
		},
		{name: "nothing", text: `{}`, warnings: []string{"no server is declared: the key mcpServers is missing"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg, err := mcp.Parse([]byte(tt.text), lookup)
			require.NoError(t, err)
			assert.Equal(t, tt.servers, cfg.Servers)
			assert.Equal(t, tt.warnings, cfg.Warnings)
		})
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                   "line 1, column 1: unexpected end of JSON input",
		"[]":                                 "must be a JSON object",
		"{\n  \"mcpServers\": {\n  x}}":      "line 3, column 3: invalid character 'x'",
		`{"mcpServers":{"a":{"command":"c"}`: "unexpected end of JSON input",
		`{"mcpServers":{"a":{},"a":{}}}`:     `"a" is given twice`,
		`{"mcpServers":{}} {}`:               "line 1, column 19: invalid character '{' after top-level value",
		`{"mcpServers":[]}`:                  "must be a JSON object",
	} {
		_, err := mcp.Parse([]byte(text), lookup)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".mcp.json")
	_, err := mcp.Load(path)
	require.ErrorIs(t, err, fs.ErrNotExist)

	t.Setenv("GRAPNEL_TEST_COMMAND", "srv")
	require.NoError(t, os.WriteFile(path, []byte(`{"mcpServers":{"a":{"command":"${GRAPNEL_TEST_COMMAND}"}}}`), 0o600))
	cfg, err := mcp.Load(path)
	require.NoError(t, err)
	assert.Equal(t, mcp.Config{Servers: []mcp.Server{{Name: "a", Command: "srv"}}}, cfg)

	require.NoError(t, os.WriteFile(path, []byte(`{`), 0o600))
	_, err = mcp.Load(path)
	require.ErrorContains(t, err, path)
}

func TestNamesThatCouldClaimEachOthersTools(t *testing.T) {
	t.Parallel()
	_, err := mcp.New(mcp.Config{Servers: []mcp.Server{{Name: "a"}, {Name: "a"}}}, nil)
	require.ErrorContains(t, err, `server "a" is declared twice`)

	m := newMCP(t, nil, mcp.Server{Name: "a", Command: "c"}, mcp.Server{Name: "a__b", Command: "c"},
		mcp.Server{Name: "a_", Command: "c"}, mcp.Server{Name: "ab", Command: "c"}, mcp.Server{Name: "_a", Command: "c"})
	var states []mcp.State
	for _, s := range m.Status() {
		states = append(states, s.State)
	}
	assert.Equal(t, []mcp.State{mcp.StateDeclared, mcp.StateRefused, mcp.StateRefused, mcp.StateDeclared, mcp.StateDeclared}, states)
	assert.Contains(t, m.Status()[1].Reason, `those of server "a"`)
}

func FuzzParse(f *testing.F) {
	f.Add(`{"mcpServers":{"a":{"command":"${A:-b}","args":[1],"env":{"K":"v"},"timeout":1e99}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		cfg, err := mcp.Parse([]byte(text), lookup)
		if err != nil {
			return
		}
		m, err := mcp.New(cfg, nil)
		require.NoError(t, err, "what Parse returns New accepts")
		require.NoError(t, m.OnClose(t.Context()))
		for _, s := range cfg.Servers {
			assert.GreaterOrEqual(t, s.Timeout, time.Duration(0))
			assert.True(t, s.Refused != "" || s.Command != "", "a usable server has a command")
		}
	})
}
