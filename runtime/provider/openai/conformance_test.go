package openai_test

import (
	"testing"

	testwires "github.com/grapnel-go/grapnel/internal/test/wires"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest"
)

func TestConformanceOfChat(t *testing.T) {
	t.Parallel()
	providertest.Run(t, testwires.Chat(opens(openai.WireChat)))
}

func TestConformanceOfResponses(t *testing.T) {
	t.Parallel()
	providertest.Run(t, testwires.Responses(opens(openai.WireResponses)))
}

func opens(wire openai.Wire) testwires.Open {
	return func(s providertest.Server) provider.Provider {
		return openai.New(&openai.Options{BaseURL: s.URL + "/v1", APIKey: s.Key, Wire: wire, Network: provider.Network{Client: s.Client()}})
	}
}
