package approval_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/approval"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

// TestAClassCoversWhatTheJudgeSays: an answer for a class counts for the calls that the judge of
// commands finds in the class, and only where the judge's policy is what asks.
func TestAClassCoversWhatTheJudgeSays(t *testing.T) {
	t.Parallel()
	rules, err := policy.New(nil, &policy.Options{Root: t.TempDir()})
	require.NoError(t, err)
	dir := t.TempDir()
	a := approval.New(&approval.Options{
		Store: approval.Dir(dir), Project: t.TempDir(),
		Examine: func(call *hook.ToolCall) approval.Examined { return approval.Examined(rules.Examine(call)) },
	})
	people := says(remembering(yes, "rule-project"))
	p := newPlace(people, "helper", "conv")
	approve := func(line, other string) hook.Verdict {
		call := p.call(bash, message.JSON(`{"command":"`+line+`"}`))
		asks, err := rules.BeforeTool(t.Context(), call)
		require.NoError(t, err)
		if other != "" {
			asks = hook.AskTool(other)
		}
		d, err := a.Approve(t.Context(), call, asks)
		require.NoError(t, err)
		return d.Verdict()
	}
	assert.Equal(t, "ann", approve("go test ./a", "").By)
	var ids []string
	for _, o := range people.asked[0].Offers.All() {
		ids = append(ids, o.ID)
		if o.ID == "rule-project" {
			assert.Equal(t, `any call of bash with one command that "Bash(go test *)" covers: other operands and flags, but none that is known to run `+
				`another program or to write a file, nor any that is not known, by every agent in this project, until it is forgotten`, o.Text)
		}
	}
	assert.Equal(t, "call-conversation call-agent call-project rule-conversation rule-agent rule-project", strings.Join(ids, " "), "the narrowest first")
	people.answer = says(no).answer
	for line, want := range map[string]string{
		"go test ./b -run X":                 hook.ByRule,
		"go test ./...":                      hook.ByRule,
		"go test -exec ./x ./...":            "ann",
		"go test -toolexec=./x ./a":          "ann",
		"go test -coverprofile=Makefile ./a": "ann",
		"go test ./a; rm -rf x":              "ann",
		"go test ./a && go test ./b":         "ann",
		"go test ./a > x":                    "ann",
		"go test $(touch x)":                 "ann",
		"go test /other/...":                 "ann",
		"go testing ./a":                     "ann",
		"go vet ./a":                         "ann",
		"GOFLAGS=-exec=./x go test ./a":      "ann",
		`go test ./a\nrm x`:                  "ann",
		"go test ./a\u202e":                  "ann",
	} {
		assert.Equal(t, want, approve(line, "").By, line)
	}
	assert.Equal(t, "ann", approve("go test ./b", "there is a secret in it").By, "another hook asks")

	all, err := approval.List(approval.Dir(dir))
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, "Bash(go test *)", all[0].Rule)
}
