package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/examples/subsystem/pantry"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCook(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, cook(t.Context(), &out))
	for _, line := range []string{
		"pantry_put: executed: egg: 6\n",
		"pantry_put: invalid: pantry_put: invalid argument pieces: ",
		"pantry_take: failed: there are only 0 of leek\n",
		"pantry_take: denied: Nobody takes the last piece of cake.\n",
		"pantry_take: executed: egg: 2\n",
		`What is left: [{"item":"cake","pieces":1},{"item":"egg","pieces":2}]` + "\n",
	} {
		assert.Contains(t, out.String(), line)
	}
}

func TestConformance(t *testing.T) {
	hooktest.Run(t, func(*testing.T) hook.Hook { return &Kitchen{Rules: &HouseRules{}, Pantry: pantry.New()} }, nil)
}
