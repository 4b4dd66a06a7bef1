package gemini_test

import (
	"testing"

	testwires "github.com/grapnel-go/grapnel/internal/test/wires"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/gemini"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	providertest.Run(t, testwires.Gemini(func(s providertest.Server) provider.Provider {
		return gemini.New(&gemini.Options{BaseURL: s.URL, APIKey: s.Key, Network: provider.Network{Client: s.Client()}})
	}))
}
