package anthropic_test

import (
	"testing"

	"github.com/grapnel-go/grapnel/internal/test/wires"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/anthropic"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest"
)

func TestTheAdapterKeepsTheRules(t *testing.T) {
	t.Parallel()
	providertest.Run(t, wires.Messages(func(s providertest.Server) provider.Provider {
		return anthropic.New(&anthropic.Options{BaseURL: s.URL, APIKey: s.Key, Network: provider.Network{Client: s.Client()}})
	}))
}
