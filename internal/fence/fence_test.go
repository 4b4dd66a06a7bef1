package fence_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/fence"
)

func TestTrim(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "",
		" {} \n":                       "{}",
		"```json\n{\"a\":1}\n```":      `{"a":1}`,
		"\n```JSON \r\n{}\n```\n":      "{}",
		"```\n{}\n```":                 "{}",
		"```{}```":                     "```{}```",
		"```go\n{}\n```":               "```go\n{}\n```",
		"Here:\n```json\n{}\n```":      "Here:\n```json\n{}\n```",
		"```json\n{}\n```\nThat is it": "```json\n{}\n```\nThat is it",
		"```json\n{}":                  "```json\n{}",
	} {
		assert.Equal(t, want, fence.Trim(text), "%q", text)
		_, fenced := fence.Inner(text)
		assert.Equal(t, want == "{}" && text != " {} \n" || want == `{"a":1}`, fenced, "%q", text)
	}
}
