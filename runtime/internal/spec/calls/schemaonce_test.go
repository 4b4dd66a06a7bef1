package calls_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// The schema of a tool goes back to the model with the first call of a turn that does
// not fit it. Each later one has what is wrong with it, and not the schema again.
func TestSpecTheSchemaIsSentOnce(t *testing.T) {
	t.Parallel()
	wrong := func(id string) rig.ToolCall { return rig.Call(id, "delegate", `{"tasks":3}`) }
	w := rig.Start(t, rig.Plays(rig.Calls(wrong("c1"), wrong("c2")), rig.Calls(wrong("c3")), rig.Says("done"), rig.Calls(wrong("c4")), rig.Says("done")), delegate.New(nil))
	w.Send("one")
	w.Send("two")
	results := w.Results()
	require.Len(t, results, 4)
	const schema = "The arguments must fit this schema: {"
	for i, r := range results {
		assert.Contains(t, r, "delegate: invalid argument tasks: must be an array")
		assert.Equal(t, i == 0 || i == 3, strings.Contains(r, schema), "call %d: %.80s", i+1, r)
	}
}
