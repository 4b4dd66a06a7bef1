package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]size{"0": 0, "1": 1, "4KiB": 4 << 10, "16MiB": 16 << 20, "1GiB": 1 << 30, "1073741824": 1 << 30} {
		var s size
		assert.NoError(t, s.Set(text))
		assert.Equal(t, want, s, text)
	}
	for _, text := range []string{"", "MiB", "-1", "1.5MiB", "2GiB", "1073741825", "99999999999999999999", "8MB", " 8MiB", "1e3"} {
		var s size
		assert.ErrorContains(t, s.Set(text), "16MiB", text)
	}
}
