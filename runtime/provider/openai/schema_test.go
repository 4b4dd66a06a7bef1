package openai_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
)

// OpenAI refuses the schema of an object without properties, which is what a tool
// without parameters has in many MCP servers.
func TestEverySchemaHasProperties(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"type":"object"}`:                                      `{"properties":{},"type":"object"}`,
		` { "type" : "object" } `:                                `{"properties":{}, "type" : "object" }`,
		`{"type":"object","additionalProperties":false}`:         `{"properties":{},"type":"object","additionalProperties":false}`,
		`{"type":"object","properties":{}}`:                      `{"type":"object","properties":{}}`,
		`{"properties":{"a":{"type":"string"}},"type":"object"}`: `{"properties":{"a":{"type":"string"}},"type":"object"}`,
		`{"type":"object","properties":null}`:                    `{"type":"object","properties":{}}`,
		`{}`:                                                     `{"type":"object","properties":{}}`,
		`[]`:                                                     `{"type":"object","properties":{}}`,
		`{`:                                                      `{"type":"object","properties":{}}`,
		``:                                                       `{"type":"object","properties":{}}`,
	} {
		req := hello()
		req.Tools = message.NewToolSet([]message.Tool{{Name: "look", Input: message.JSON(input)}})
		sent := body(t, req, nil)
		assert.Contains(t, sent, `"parameters":`+want+`}}]`, input)
		assert.Nil(t, strictwire.CheckOpenAI([]byte(sent)), "%s became %s", input, strings.TrimSpace(sent))
	}
}
