package openai_test

import (
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

func TestPresets(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, of := range openai.Presets() {
		for _, unique := range []string{of.Name, of.KeyName, of.URLName()} {
			assert.False(t, seen[unique], "%s twice", unique)
			seen[unique] = true
		}
		again, ok := openai.PresetOf(of.Name)
		require.True(t, ok)
		assert.Equal(t, of, again)
		if of.Port > 0 {
			u, err := url.Parse(of.BaseURL)
			require.NoError(t, err)
			assert.Equal(t, "127.0.0.1:"+strconv.Itoa(of.Port), u.Host)
			assert.False(t, of.NeedsKey)
		}
	}
	_, ok := openai.PresetOf("nobody")
	assert.False(t, ok)
	assert.Len(t, openai.Presets(), 7)
}

func TestAVendorOfAPreset(t *testing.T) {
	t.Parallel()
	for _, of := range openai.Presets() {
		env := map[string]string{of.KeyName: canary, of.Env + "_IDLE_TIMEOUT": "90s"}
		if of.BaseURL == "" {
			env[of.URLName()] = "https://mine.openai.azure.com/openai/v1"
		}
		o := of.FromEnv(func(name string) string { return env[name] })
		var r records
		o.Client = &http.Client{Transport: r.serve(t)}
		p := openai.New(o)
		require.NoError(t, p.Err(), of.Name)
		assert.Equal(t, 90*time.Second, o.IdleTimeout)
		req := hello()
		req.Model.Name, req.Model.MaxTokens = "gpt-4o", 7
		_, err := provider.Collect(p.Stream(t.Context(), req))
		require.NoError(t, err, of.Name)
		key, value := "Authorization", "Bearer "+canary
		if of.Name == "azure" {
			key, value = "Api-Key", canary
			assert.Contains(t, r.bodies[0], `"max_completion_tokens":7`)
		}
		assert.Equal(t, value, r.headers[0].Get(key), of.Name)
		assert.Contains(t, p.String(), of.Name+"(")
	}
}

func TestAPresetSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	for name, want := range map[string]string{
		"openrouter": "openrouter: wrong options: no API key for openrouter.ai; set OPENROUTER_API_KEY, or OPENROUTER_BASE_URL to a server that needs none",
		"azure":      "azure: wrong options: the base URL is not http(s)://host[:port]/path; set AZURE_OPENAI_BASE_URL or Options.BaseURL",
	} {
		of, _ := openai.PresetOf(name)
		p := openai.New(of.FromEnv(none))
		require.ErrorIs(t, p.Err(), provider.ErrOptions)
		assert.ErrorContains(t, p.Err(), want)
	}
	for _, name := range []string{"ollama", "llamacpp", "vllm", "lmstudio"} {
		of, _ := openai.PresetOf(name)
		assert.NoError(t, openai.New(of.FromEnv(none)).Err(), name)
	}
	of, _ := openai.PresetOf("ollama")
	o := of.FromEnv(func(name string) string {
		return map[string]string{"OLLAMA_IDLE_TIMEOUT": "soon", "OLLAMA_CONTEXT_WINDOW": "8k"}[name]
	})
	assert.ErrorContains(t, openai.New(o).Err(), `ollama: OLLAMA_IDLE_TIMEOUT is "soon"`)
	assert.ErrorContains(t, openai.New(o).Err(), `ollama: OLLAMA_CONTEXT_WINDOW is "8k"`)
	assert.ErrorContains(t, openai.New(&openai.Options{APIKey: canary, Wire: "grpc"}).Err(), `Wire is "grpc"; it is "chat", "responses" or empty`)
}
