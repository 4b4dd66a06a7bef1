//go:build knownbad

package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKnownBad passes for root only. CI runs it as another user, to see that the
// step which runs as that user turns red.
func TestKnownBad(t *testing.T) {
	file, err := os.CreateTemp("/", "grapnel-known-bad-")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.NoError(t, os.Remove(file.Name()))
}
