package gemini_test

import (
	"net/http"
	"testing"

	"github.com/grapnel-go/grapnel/internal/test/recordings"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/gemini"
)

func TestRecordings(t *testing.T) {
	t.Parallel()
	recordings.Check(t, recordings.Gemini, func(base string, client *http.Client) provider.Provider {
		return gemini.New(&gemini.Options{BaseURL: base, APIKey: canary, Network: provider.Network{Client: client}})
	})
}
