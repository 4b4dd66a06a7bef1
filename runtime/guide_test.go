package runtime_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheGuideQuotesExamplesThatRun(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/conversations.md")
	require.NoError(t, err)
	code, err := os.ReadFile("example_conversation_test.go")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		assert.Contains(t, string(code), block[1])
	}
}
