package mcp_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
)

func foreign(tool message.Tool) bool { return strings.HasPrefix(tool.Name, "mcp__") }

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestConformance(t *testing.T) {
	t.Parallel()
	// Tools are known once the first agent has been built; the kit wants to know
	// them before.
	connected := func(t *testing.T) hook.Hook {
		m := newMCP(t, nil, testServer(t, "srv", "tools"), testServer(t, "raw", "raw"))
		build(t, m, "")
		assert.NotEmpty(t, m.Schema())
		return m
	}
	narrowed := hook.AgentConfig{}.WithSection("mcp", `{"servers":["raw"],"tools":["mcp__raw__hello"]}`)
	t.Run("connected", func(t *testing.T) {
		hooktest.Run(t, connected, &hooktest.Options{Foreign: foreign, Golden: "testdata/descriptor.txt", Update: *update})
	})
	t.Run("narrowed", func(t *testing.T) {
		hooktest.Run(t, connected, &hooktest.Options{Foreign: foreign, Agent: narrowed})
	})
	t.Run("no servers", func(t *testing.T) {
		hooktest.Run(t, func(t *testing.T) hook.Hook { return newMCP(t, nil) }, nil)
	})
}
