package event_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
)

// Package hook makes events of three kinds, and cannot name the constants.
func TestKindsThatHookMakes(t *testing.T) {
	assert.Equal(t, event.HookFailed, (&hook.Failure{}).Event().Kind)
	assert.Equal(t, event.HookRun, hook.Run{}.Event().Kind)
	assert.Equal(t, event.Diagnostic, hook.Diagnostic{}.Event().Kind)
}
