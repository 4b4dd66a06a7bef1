package app

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/config"
)

func TestWhatIsMaskedByTheSection(t *testing.T) {
	t.Parallel()
	const text = "me@nic.tv has ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"
	for section, want := range map[message.JSON]string{
		"": text, `{}`: text, `{"secrets":false}`: text,
		`{"secrets":true}`:                   "me@nic.tv has [secret: github-token]",
		`{"secrets":true,"personal":true}`:   "[personal: email] has [secret: github-token]",
		`{"secrets":true,"personal": false}`: "me@nic.tv has [secret: github-token]",
	} {
		r, err := redactor(config.Config{Redact: section})
		require.NoError(t, err)
		assert.Equal(t, want, r.Text(text), section)
		assert.Equal(t, want == text, masker(r) == nil && maskText(r) == nil, section)
		cause := errors.New(text)
		masked := r.Error(cause)
		require.ErrorIs(t, masked, cause)
		assert.Equal(t, want, masked.Error())
	}
	for section, want := range map[message.JSON]string{
		`{"personal":true}`: "write secrets: true as well", `{"secret":true}`: "secret", `{"secrets":"yes"}`: "secrets",
	} {
		_, err := redactor(config.Config{Redact: section})
		require.ErrorContains(t, err, want)
		assert.Contains(t, err.Error(), "config.yaml")
	}
}
