package config_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/config"
)

// TestChanged names what has changed, and no value of it.
func TestChanged(t *testing.T) {
	t.Parallel()
	parse := func(text string) *config.Config {
		c, err := config.Parse("config.yaml", []byte(text), known())
		require.NoError(t, err)
		return &c
	}
	was := parse(whole)
	assert.Empty(t, parse("# the same\n"+whole).Changed(was), "a comment changes nothing")
	assert.Equal(t, []string{"model", "spending.day", "spending.token", "vendors.lab", "vendors.ollama", "vendors.openai"}, parse("").Changed(was))
	assert.Equal(t, []string{"model", "spending.day", "spending.token", "vendors.lab", "vendors.ollama", "vendors.openai"}, was.Changed(parse("")))
	now := parse(`model: {name: "openai:small", reasoning: high}
vendors:
  openai:
    key: {env: ` + "OTHER_KEY" + `}
    base_url: https://gateway.example.com/v2
    ca_file: ~/other.pem
    proxy: "socks5://127.0.0.1:1080"
    first_byte_timeout: 3m
    idle_timeout: 1m
    headers: {x-team: red}
    context_window: 1
  ollama:
  lab: {preset: openai, base_url: "http://127.0.0.1:9000/v1", key: {file: /run/secrets/lab}, proxy: "socks5://127.0.0.1:1080"}
  new: {preset: vllm, base_url: "http://127.0.0.1:9000/v1"}
spending: {day: 6, token: {ci: 1}}
redact: {}
`)
	assert.Equal(t, []string{
		"model", "redact", "spending.day", "vendors.lab.preset", "vendors.new", "vendors.openai.base_url", "vendors.openai.ca_file", "vendors.openai.context_window",
		"vendors.openai.first_byte_timeout", "vendors.openai.headers", "vendors.openai.idle_timeout", "vendors.openai.key", "vendors.openai.proxy",
	}, now.Changed(was))
	assert.Equal(t, 9, reflect.TypeFor[config.Vendor]().NumField(), "each setting of a vendor is compared")
}
