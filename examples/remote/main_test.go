package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/test/gomod"
)

// TestResumesOutsideThisModule: the program builds in a module of its own, and prints each event once although the stream breaks in its middle.
func TestResumesOutsideThisModule(t *testing.T) {
	t.Parallel()
	var after []string
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/conversations", func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "Bearer secret", r.Header.Get("Authorization"))
		assert.NoError(t, json.NewEncoder(w).Encode(wire.Conversation{ID: "c"}))
	})
	mux.HandleFunc("POST /v1/conversations/c/messages", func(w http.ResponseWriter, r *http.Request) {
		var in wire.NewMessage
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&in))
		assert.Equal(t, "Hello", in.Text)
		assert.NoError(t, json.NewEncoder(w).Encode(wire.Turn{ID: "t", Conversation: "c", LastEventID: "1-0"}))
	})
	mux.HandleFunc("GET /v1/conversations/c", func(w http.ResponseWriter, _ *http.Request) {
		assert.NoError(t, json.NewEncoder(w).Encode(wire.Conversation{ID: "c", Turn: "t", LastEventID: "1-2"}))
	})
	mux.HandleFunc("GET /v1/conversations/c/events", func(w http.ResponseWriter, r *http.Request) {
		after = append(after, r.Header.Get("Last-Event-ID"))
		if len(after) == 1 {
			fmt.Fprint(w, "id: 1-1\ndata: {\"kind\":\"turn_start\",\"turn\":\"t\",\"seq\":1}\n\nid: 1-2\ndata: {\"kind\":\"step_")
			return
		}
		fmt.Fprint(w, "id: 1-2\ndata: {\"kind\":\"step_start\",\"turn\":\"t\",\"seq\":2}\n\nid: 1-3\ndata: {\"kind\":\"turn_end\",\"turn\":\"t\",\"seq\":3,\"text\":\"Hi.\"}\n\n")
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)

	text, err := os.ReadFile("main.go")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "go", "run", ".", srv.URL, "Hello")
	cmd.Dir = gomod.New(t, "outside.example/remote", map[string]string{"main.go": string(text)})
	cmd.Env = append(os.Environ(), "GRAPNEL_TOKEN=secret")
	for name, value := range gomod.Environ() {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "1-1 turn_start\n1-2 step_start\n1-3 turn_end: Hi.\n", string(out))
	assert.Equal(t, []string{"1-0", "1-1"}, after)
}

// TestLinksNoRuntime shows what a client does not pay for.
func TestLinksNoRuntime(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	const module = "github.com/grapnel-go/grapnel/"
	var ours []string
	for path := range strings.FieldsSeq(string(out)) {
		first, _, _ := strings.Cut(path, "/")
		if rest, ok := strings.CutPrefix(path, module); ok {
			ours = append(ours, rest)
		} else if strings.Contains(first, ".") {
			assert.Fail(t, "a program with the client alone links "+path)
		}
	}
	assert.ElementsMatch(t, []string{
		"client", "client/wire", "composite/plan", "examples/remote", "hook", "hook/event", "hook/message", "internal/peer", "internal/privatedir", "internal/spell", "internal/sse",
	}, ours)
}
