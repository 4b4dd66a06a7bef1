package model_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/gen/internal/model"
)

func TestSnake(t *testing.T) {
	for name, want := range map[string]string{
		"Add": "add", "ListAll": "list_all", "HTTPGet": "http_get", "GetHTTP": "get_http", "ID": "id", "X": "x", "A1B": "a1_b",
	} {
		assert.Equal(t, want, model.Snake(name))
	}
}

func TestConstName(t *testing.T) {
	for tool, want := range map[string]string{
		"add": "ToolAdd", "note_add": "ToolNoteAdd", "call-out": "ToolCallOut", "mcp__a__b": "ToolMcpAB", "1st": "Tool1st",
	} {
		assert.Equal(t, want, model.ConstName(tool))
	}
}
