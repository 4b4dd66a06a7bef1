package term_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/term"
)

func TestPlanLine(t *testing.T) {
	t.Parallel()
	for markdown, want := range map[string]string{
		"":                       "the plan is empty",
		" \n\n":                  "the plan is empty",
		"## A boat\n\nof oak":    "plan: A boat",
		"- [ ] saw\n- [ ] plane": "0 of 2 done · next: saw",
		"A boat\n- [x] saw\n- [~] plane (planing)\n- [~] two\n- [ ] oil": "1 of 4 done · now: plane (planing)",
		"- [X] saw\r\n  - [x] plane\r\n":                                 "2 of 2 done",
		"- [?] odd\n- [ ]\n- []\n- [x]none":                              "0 of 1 done",
	} {
		assert.Equal(t, want, term.PlanLine(markdown), "%q", markdown)
	}
}
