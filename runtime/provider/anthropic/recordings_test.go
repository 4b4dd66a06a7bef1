package anthropic_test

import (
	"net/http"
	"testing"

	"github.com/grapnel-go/grapnel/internal/test/recordings"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/anthropic"
)

func TestRecordings(t *testing.T) {
	t.Parallel()
	recordings.Check(t, recordings.Anthropic, func(base string, client *http.Client) provider.Provider {
		return anthropic.New(&anthropic.Options{BaseURL: base, APIKey: canary, Network: provider.Network{Client: client}})
	})
}
