package trust_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/trust"
)

// TestTheQuestionShowsTheDifference: grants, exceptions and what has changed since the
// last approval are in the question.
func TestTheQuestionShowsTheDifference(t *testing.T) {
	t.Parallel()
	r := trust.Request{
		From: "the project",
		Wants: map[trust.Kind][]string{
			trust.Rules:      {"policy.json: Bash(git *)", `policy.json: Write limited to {"root":"src"}`},
			trust.Exceptions: {"policy.json: asks about Bash(git push *)"}, trust.Guards: {"hooks.json: Guard: off"},
		},
		Changes: []string{`- policy.json: Write limited to {"root":"lib"}`, `+ policy.json: Write limited to {"root":"src"}`},
	}
	assert.Equal(t, `the project wants these calls to run without being asked about:
  policy.json: Bash(git *)
  policy.json: Write limited to {"root":"src"}
  except where these rules are stricter:
  policy.json: asks about Bash(git push *)
and subsystems that guard to be off, or to guard less:
  hooks.json: Guard: off
You have allowed something else before. What has changed since:
  - policy.json: Write limited to {"root":"lib"}
  + policy.json: Write limited to {"root":"src"}`, r.Question())
}
