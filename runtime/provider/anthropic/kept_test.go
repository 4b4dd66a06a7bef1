package anthropic_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// TestWhatIsKeptIsBounded: the limits of a reply see texts and calls, not what goes back to the
// server as it came.
func TestWhatIsKeptIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 1<<20)
	for name, tc := range map[string]struct {
		block, delta string
		times        int
	}{
		"a signature": {`{"type":"thinking","thinking":""}`, `{"type":"signature_delta","signature":"` + long + `"}`, 17},
		"a block":     {`{"type":"server_tool_use","id":"a","name":"b","input":{}}`, `{"type":"input_json_delta","partial_json":"` + long + `"}`, 17},
		"citations":   {`{"type":"text","text":""}`, `{"type":"citations_delta","citation":{}}`, 170_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := answers(t, says(append([]string{starts(0, tc.block)}, slices.Repeat([]string{adds(0, tc.delta)}, tc.times)...)...))
			require.ErrorContains(t, err, "too long")
			class, _ := provider.Classify(err)
			assert.Equal(t, message.FailureProtocol, class)
		})
	}
}
