package openai_test

import (
	"net/http"
	"testing"

	"github.com/grapnel-go/grapnel/internal/test/recordings"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
)

func TestRecordings(t *testing.T) {
	t.Parallel()
	recordings.Check(t, recordings.Chat, func(base string, client *http.Client) provider.Provider {
		return openai.New(&openai.Options{BaseURL: base + "/v1", APIKey: canary, Model: "m", Network: provider.Network{Client: client}})
	})
}

func TestRecordingsOfResponses(t *testing.T) {
	t.Parallel()
	recordings.Check(t, recordings.Responses, func(base string, client *http.Client) provider.Provider {
		return openai.New(&openai.Options{BaseURL: base + "/v1", APIKey: canary, Model: "m", Wire: openai.WireResponses, Network: provider.Network{Client: client}})
	})
}
