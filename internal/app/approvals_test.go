package app_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/trust"
)

// TestAnApprovalCoversWhatHasAnEffect: whoever has approved something is asked again
// when any of it changes that has an effect, and not otherwise. Unasked, the change
// does not count.
func TestAnApprovalCoversWhatHasAnEffect(t *testing.T) {
	t.Parallel()
	const agent = ".grapnel/agents/chief.md"
	md := func(front string) string { return "---\nmodel: script:x.yaml\n" + front + "\n---\nHi.\n" }
	for _, c := range []struct{ name, file, before, after, shown string }{
		{"a grant goes", ".grapnel/policy.json", `{"allow":[{"rule":"Write(src/**)","grant":{"root":"src"}}]}`, `{"allow":["Write(src/**)"]}`, `- .grapnel/policy.json: Write(src/**) limited to {"root":"src"}; + .grapnel/policy.json: Write(src/**)`},
		{"a grant is wider", ".grapnel/policy.json", `{"allow":[{"rule":"Bash(go *)","grant":{"timeout":"1s"}}]}`, `{"allow":[{"rule":"Bash(go *)","grant":{"timeout":"1h"}}]}`, `- .grapnel/policy.json: Bash(go *) limited to {"timeout":"1s"}; + .grapnel/policy.json: Bash(go *) limited to {"timeout":"1h"}`},
		{"an ask goes", ".grapnel/policy.json", `{"allow":["Bash(git *)"],"ask":["Bash(git push *)"]}`, `{"allow":["Bash(git *)"]}`, `- .grapnel/policy.json: asks about Bash(git push *)`},
		{"a deny goes", ".grapnel/policy.json", `{"allow":["Read"],"deny":["Read(.env)"]}`, `{"allow":["Read"]}`, `- .grapnel/policy.json: denies Read(.env)`},
		{"the default is milder", ".grapnel/policy.json", `{"allow":["Read"],"default":"deny"}`, `{"allow":["Read"],"default":"ask"}`, `- .grapnel/policy.json: what no rule speaks of: deny; + .grapnel/policy.json: what no rule speaks of: ask`},
		{"a grant of an agent goes", agent, md(`policy: {allow: [{rule: Write, grant: {read_only: true}}]}`), md(`policy: {allow: [Write]}`), `- agent chief: Write limited to {"read_only":true}; + agent chief: Write`},
		{"an ask of an agent goes", agent, md(`policy: {allow: ["Bash(git *)"], ask: ["Bash(git push *)"]}`), md(`policy: {allow: ["Bash(git *)"]}`), `- agent chief: asks about Bash(git push *)`},
		{"a gate at another point", ".grapnel/hooks.json", `{"Guard":"without=BeforeTool"}`, `{"Guard":"without=BeforeTool;AfterStep: timeout=1s"}`, `- .grapnel/hooks.json: Guard: without=BeforeTool; + .grapnel/hooks.json: Guard: without=BeforeTool; AfterStep: timeout=1s`},
		{"a gate of an agent", agent, md(`hooks: {Guard: "without=BeforeTool"}`), md(`hooks: {Guard: "off"}`), `- agent "chief": Guard: without=BeforeTool; + agent "chief": Guard: off`},
		{"a variable of a server", agent, md(`mcp: {define: {m: {command: none, env: {A: b}}}}`), md(`mcp: {define: {m: {command: none, env: {A: c}}}}`), `- m: environment A=b; + m: environment A=c`},
		{"the word of a server's harmlessness", agent, md(`mcp: {define: {m: {command: none}}}`), md(`mcp: {define: {m: {command: none, destructive: false}}}`), `+ m: its tools are not taken for destructive, by the word of this file`},
		{"the time of a server's calls", agent, md(`mcp: {define: {m: {command: none, timeout: 1000}}}`), md(`mcp: {define: {m: {command: none, timeout: 9000}}}`), `- m: each call may take 1s; + m: each call may take 9s`},
		{"a variable of a list", ".mcp.json", `{"mcpServers":{"m":{"command":"none"}}}`, `{"mcpServers":{"m":{"command":"none","env":{"LD_PRELOAD":"x"}}}}`, `+ m: environment LD_PRELOAD=x (can say which code programs load or run)`},
		{"a program of the project", "server.sh", "one", "two", `- m: the file server.sh, 3 bytes, sha256 7692c3ad3540bb803c020b3aee66cd88; + m: the file server.sh, 3 bytes, sha256 3fc4ccfe745870e2c0d99f71f30ff065`},
		{"a file that a server of an agent runs", "sub/own.js", "one", "two", `- own: the file sub/own.js, 3 bytes, sha256 7692c3ad3540bb803c020b3aee66cd88; + own: the file sub/own.js, 3 bytes, sha256 3fc4ccfe745870e2c0d99f71f30ff065`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{agent: md(""), "x.yaml": "rules: [{say: Hi.}]"}
			switch c.file {
			case "server.sh":
				files[".mcp.json"] = `{"mcpServers":{"m":{"command":"./server.sh","args":["-v","../x","none.txt"]}}}`
			case "sub/own.js":
				files[agent] = md(`mcp: {define: {own: {command: node, args: [sub/own.js]}}}`)
			}
			files[c.file] = c.before
			p := project(t, files)
			var changes []string
			asks := func() (n int) {
				opened, err := app.Open(t.Context(), app.Options{Paths: p, Trust: func(_ context.Context, s trust.Request) (trust.Answer, error) {
					n++
					changes = s.Changes
					return trust.Always, nil
				}})
				require.NoError(t, err)
				_, err = opened.Register(t.Context(), "chief", hook.AgentConfig{})
				require.NoError(t, err)
				require.NoError(t, opened.Close(context.WithoutCancel(t.Context())))
				return n
			}
			assert.Equal(t, 1, asks(), "at first")
			assert.Empty(t, changes)
			assert.Equal(t, 0, asks(), "nothing has changed")
			require.NoError(t, os.WriteFile(filepath.Join(p.Root, c.file), []byte(c.after), 0o600))
			assert.Equal(t, 1, asks(), "after the change")
			assert.Equal(t, c.shown, strings.Join(changes, "; "))
			assert.Equal(t, 0, asks(), "nothing has changed since")
		})
	}
}
