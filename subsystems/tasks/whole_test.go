package tasks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A list that is too long beside the plan is refused, and what was kept before is shown whole.
func TestWhatCannotBeShownIsNotKept(t *testing.T) {
	t.Parallel()
	var items []string
	for i := range 50 {
		items = append(items, "  "+fmt.Sprintf("%03d ", i)+strings.Repeat("x", 196))
	}
	w := newWorld(t, `{"items":50}`, nil, calls(plan(strings.Repeat("p", 4000)), todo(items...)), says("begun"), says("two"))
	w.send("build")
	w.send("two")
	shown := strings.Join(w.shown(2), "\n")
	assert.Contains(t, shown, strings.Repeat("p", 4000))
	assert.NotContains(t, shown, "000 x")
}

// Blank and repeated tasks, with characters that nobody sees.
func TestBlankAndEqualTasksAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range [][]string{{"  \u200d"}, {"  \u2800"}, {"  \u3164"}, {"  Run", "x Run\u200d"}, {"  Run", "x Run\ufe0f"}, {"  \ufe0f"}, {"  \u034f"}} {
		w := newWorld(t, `{}`, nil, calls(todo(bad...)), says("begun"))
		w.send("build")
		assert.Empty(t, w.plans())
	}
}
