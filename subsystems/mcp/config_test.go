package mcp_test

import (
	"encoding/json"
	"fmt"
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
			text: `{"mcpServers":{"h":{"type":"http","url":"https://h/","headers":{"Authorization":"Bearer ${SET}"}},"u":{"url":"http://[::1]:1/"},
				"s":{"type":"sse","url":"x"},"w":{"type":"ws"},"ok":{"command":"c"}}}`,
			servers: []mcp.Server{
				{Name: "h", URL: "https://h/", Headers: map[string]string{"Authorization": "Bearer value"}},
				{Name: "u", URL: "http://[::1]:1/"},
				{Name: "s", URL: "x", Refused: "the transport sse is not supported; use http, or stdio for a program"},
				{Name: "w", Refused: "the transport ws is not supported; use http, or stdio for a program"},
				{Name: "ok", Command: "c"},
			},
			warnings: []string{
				`server "s" cannot be used: the transport sse is not supported; use http, or stdio for a program`,
				`server "w" cannot be used: the transport ws is not supported; use http, or stdio for a program`,
			},
		},
		{
			name: "wrong entries leave the others",
			text: `{"x":1,"mcpServers":{"a":{"command":1},"b":{},"c d":{"command":"c"},"e":[],"f":{"command":"c","Args":[],"timeout":10},
				"g":{"command":"c","args":["x",2]},"h":{"type":"pipe","command":"c"},"i":{"command":"c","command":"d"}}}`,
			servers: []mcp.Server{
				{Name: "a", Refused: "command must be a string"},
				{Name: "b", Refused: "it has neither a command nor a url"},
				{Name: "c d", Command: "c", Refused: "its name must consist of letters, digits, _ and -"},
				{Name: "e", Refused: "must be a JSON object"},
				{Name: "f", Command: "c"},
				{Name: "g", Command: "c", Refused: "args must be a list of strings"},
				{Name: "h", Command: "c", Refused: "its type must be stdio or http"},
				{Name: "i", Command: "c", Refused: `"command" is given twice`},
			},
			warnings: []string{
				`the key "x" has no effect; servers are declared under mcpServers`,
				`server "a" cannot be used: command must be a string`,
				`server "b" cannot be used: it has neither a command nor a url`,
				`server "c d" cannot be used: its name must consist of letters, digits, _ and -`,
				`server "e" cannot be used: must be a JSON object`,
				`server "f": the key "Args" has no effect`,
				`server "f": a timeout below 1000 (milliseconds) has no effect`,
				`server "g" cannot be used: args must be a list of strings`,
				`server "h" cannot be used: its type must be stdio or http`,
				`server "i" cannot be used: "command" is given twice`,
			},
		},
		{
			name: "required and disabled", text: `{"mcpServers":{"a":{"command":"x","required":true},"b":{"command":"x","disabled":true}}}`,
			servers: []mcp.Server{{Name: "a", Command: "x", Required: true},
				{Name: "b", Command: "x", Disabled: true, Refused: "it is disabled in the list of servers"}},
		},
		{name: "nothing", text: `{}`, warnings: []string{"no server is declared: the key mcpServers is missing"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg, err := mcp.Parse([]byte(tt.text), lookup)
			require.NoError(t, err)
			assert.Equal(t, tt.servers, mcp.AsWritten(cfg).Servers)
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
	assert.Equal(t, mcp.Config{Servers: []mcp.Server{{Name: "a", Command: "srv"}}}, mcp.AsWritten(cfg))

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

func TestEndpointsThatAreRefused(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		`"url":"http://example.com/mcp"`:                      "its url must begin with https://; http is for servers on this machine only",
		`"url":"http://127.0.0.1.example.com/"`:               "http is for servers on this machine only",
		`"url":"http://[::2]/"`:                               "http is for servers on this machine only",
		`"url":"ftp://localhost/"`:                            "its url must begin with https://",
		`"url":"https://me:word@h/"`:                          "put credentials into headers",
		`"url":"https:///mcp"`:                                "its url must be https://host/path",
		`"url":"h\u0000"`:                                     "its url must be https://host/path",
		`"url":7`:                                             "url must be a string",
		`"type":"http"`:                                       "it has no url",
		`"type":"http","command":"c"`:                         "it has no url",
		`"type":"stdio","url":"https://h/"`:                   "it has no command",
		`"url":"https://h/","command":"c"`:                    "it has a command and a url",
		`"url":"https://h/","args":[]`:                        "args and env belong to a command",
		`"command":"c","headers":{}`:                          "headers belong to a url",
		`"url":"https://h/","headers":{"A b":"x"}`:            "headers must have names of letters",
		`"url":"https://h/","headers":{"A":"x\r\nB: y"}`:      "the header A must have a value of one line",
		`"url":"https://h/","headers":{"content-type":"x"}`:   "the header Content-Type is set by the protocol",
		`"url":"https://h/","headers":{"mcp-session-id":"x"}`: "the header Mcp-Session-Id is set by the protocol",
		`"url":"https://h/","headers":{"Authorization":"a","authorization":"b"}`: "the header authorization is given twice",
		`"url":"https://h/","headers":["x"]`:                                     "headers must be an object of strings",
	} {
		cfg, err := mcp.Parse([]byte(`{"mcpServers":{"a":{`+entry+`}}}`), lookup)
		require.NoError(t, err)
		assert.Contains(t, cfg.Servers[0].Refused, want, entry)
		assert.NotContains(t, cfg.Servers[0].Refused, "me:word", "credentials are not repeated")
	}
	for _, u := range []string{"https://h", "HTTPS://h:1/x?y=z", "http://localhost:1/", "http://LOCALHOST./", "http://127.9.9.9/", "http://[::1]/", "http://[::ffff:127.0.0.1]/"} {
		cfg, err := mcp.Parse([]byte(`{"mcpServers":{"a":{"url":"`+u+`"}}}`), lookup)
		require.NoError(t, err)
		assert.Empty(t, cfg.Servers[0].Refused, u)
	}
}

// Whoever prints or encodes a declaration must not give away what is in it.
func TestDeclarationsHideCredentials(t *testing.T) {
	t.Parallel()
	const canary = "c4n4ry"
	cfg, err := mcp.Parse([]byte(`{"mcpServers":{
		"h":{"url":"https://h/mcp?key=c4n4ry","headers":{"Authorization":"Bearer c4n4ry"}},"p":{"command":"c","args":["-v"],"env":{"K":"c4n4ry"}}}}`), lookup)
	require.NoError(t, err)
	encoded, err := json.Marshal(cfg)
	require.NoError(t, err)
	for _, text := range []string{
		fmt.Sprintf("%v %+v %#v %s", cfg, cfg, cfg, cfg.Servers[0]), fmt.Sprintf("%+v %#v", &cfg.Servers[0], cfg.Servers[1]), string(encoded),
	} {
		assert.NotContains(t, text, canary)
	}
	assert.Equal(t, "h: https://h/mcp?…", cfg.Servers[0].String())
	assert.Equal(t, "p: c -v", cfg.Servers[1].String())
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
			assert.True(t, s.Refused != "" || (s.Command == "") != (s.URL == ""), "a usable server has a command or a url")
		}
	})
}
