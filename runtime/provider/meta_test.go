package provider_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// What one wire has written, no other one reads.
func TestMetaBelongsToItsWire(t *testing.T) {
	t.Parallel()
	type signed struct {
		Signature string `json:"signature"`
	}
	meta := provider.Meta("acme", signed{"<a&b>\u2028é"})
	var got signed
	assert.True(t, provider.MetaFor("acme", meta, &got))
	assert.Equal(t, signed{"<a&b>\u2028é"}, got, "byte for byte")
	assert.Contains(t, string(meta), `<a&b>`)

	got = signed{}
	for _, other := range []message.JSON{meta, "", `{`, `[]`, `"x"`, `{"other":null}`, `{"other":7}`, `{"signature":"old"}`} {
		assert.False(t, provider.MetaFor("other", other, &got) && got != signed{}, other)
	}
	assert.Empty(t, got)
	assert.Empty(t, provider.Meta("acme", func() {}))
}
