package wire_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

func TestEnv(t *testing.T) {
	t.Parallel()
	values := map[string]string{"ACME_KEY": " k\n", "ACME_WAIT": "90s", "ACME_EVER": "-1s", "ACME_SIZE": " 77 "}
	e := wire.Env{Vendor: "acme", Prefix: "ACME", Getenv: func(name string) string { return values[name] }}
	assert.Equal(t, "k", e.Text("KEY"))
	for name, want := range map[string]time.Duration{"WAIT": 90 * time.Second, "EVER": -time.Second, "NONE": 0} {
		d, err := e.Duration(name)
		require.NoError(t, err)
		assert.Equal(t, want, d)
	}
	n, err := e.Tokens("SIZE")
	require.NoError(t, err)
	assert.Equal(t, 77, n)
	n, err = e.Tokens("NONE")
	require.NoError(t, err)
	assert.Zero(t, n)
	for _, wrong := range []string{"KEY", "SIZE"} {
		_, err = e.Duration(wrong)
		require.ErrorContains(t, err, "acme: ACME_"+wrong+" is ")
	}
	for _, wrong := range []string{"WAIT", "EVER"} {
		_, err = e.Tokens(wrong)
		require.ErrorContains(t, err, "acme: ACME_"+wrong+" is ")
	}
}
