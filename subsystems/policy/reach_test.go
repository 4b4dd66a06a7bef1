package policy_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

// What a command prints has the label of what it reaches: a line that is not understood, and one that reaches another machine, print what is
// from anywhere.
func TestTheOutputOfACommandHasALabel(t *testing.T) {
	t.Parallel()
	p, err := policy.New(nil, &policy.Options{Root: t.TempDir()})
	require.NoError(t, err)
	for line, want := range map[string]message.Trust{
		"ls -l":                              message.TrustWorkspace,
		"cat go.mod | head -3":               message.TrustWorkspace,
		"git log --oneline":                  message.TrustWorkspace,
		"go test ./...":                      message.TrustWorkspace,
		"git commit -m done":                 message.TrustWorkspace,
		"curl https://a.example":             message.TrustExternal,
		"cat go.mod; curl https://a.example": message.TrustExternal,
		"git pull":                           message.TrustExternal,
		"git fetch origin":                   message.TrustExternal,
		"gh issue view 3":                    message.TrustExternal,
		"pip install thing":                  message.TrustExternal,
		"npm ci":                             message.TrustExternal,
		"ssh host cat x":                     message.TrustExternal,
		"something unknown":                  message.TrustExternal,
		"env X=1 something":                  message.TrustExternal,
		"$(cat x)":                           message.TrustExternal,
		"cat <(curl https://a.example)":      message.TrustExternal,
	} {
		args := message.JSON(`{"command":` + strconv.Quote(line) + `}`)
		r := message.TextResult("x")
		r.Trust = message.TrustExternal
		got, err := p.RewriteResult(t.Context(), hooktest.Call(nil, "bash", args), r)
		require.NoError(t, err)
		assert.Equal(t, want, got.Trust, line)
		got, err = p.RewriteResult(t.Context(), hooktest.Call(nil, "mcp__x__run", args), r)
		require.NoError(t, err)
		assert.Equal(t, message.TrustExternal, got.Trust, "of another tool: %s", line)
	}
	r := message.TextResult("x")
	r.Trust = message.TrustExternal
	got, err := p.RewriteResult(t.Context(), hooktest.Call(nil, "bash", `{"command":"ls","env":{"PATH":"/tmp"}}`), r)
	require.NoError(t, err)
	assert.Equal(t, message.TrustExternal, got.Trust, "variables may change what it is")
}
