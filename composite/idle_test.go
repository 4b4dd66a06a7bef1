package composite_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
)

// A constraint on a field that takes part in nothing says so, and why, as hookgen does.
func TestIdleFields(t *testing.T) {
	t.Parallel()
	_, err := composite.New(&struct {
		Log   string
		Left  hook.Hook `hook:"-"`
		Guard hook.Hook `hook:"optional,before=Log,after=Left,requires=Lag"`
	}{})
	assert.ErrorContains(t, err, "before=Log of Guard: field Log takes part in nothing: its type string is no hook")
	assert.ErrorContains(t, err, `after=Left of Guard: field Left takes part in nothing: its tag is hook:"-"`)
	assert.ErrorContains(t, err, "Guard requires Lag, which the composite does not have")
}
