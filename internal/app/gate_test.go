package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/app"
)

func TestTheTimeOfGatesHasToBeADuration(t *testing.T) {
	t.Setenv("GRAPNEL_GATE_TIMEOUT", "90")
	_, err := app.Open(t.Context(), app.Options{})
	require.EqualError(t, err, `GRAPNEL_GATE_TIMEOUT is "90"; write a duration such as 90s, or -1s for no limit`)
}
