package strictwire_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/test/recordings"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
)

// extended are requests with members or tools that these vendors' rules do not have: of
// gateways, and of tools that the vendor defines.
var extended = regexp.MustCompile("^(openrouter|vercel|computer)-")

// What the vendors' servers have taken, a strict server takes too. Messages were recorded
// with the version 2023-06-01, which took sampling.
func TestRecordedRequestsAreTaken(t *testing.T) {
	t.Parallel()
	checked := map[recordings.Wire]int{}
	for _, w := range []struct {
		wire   recordings.Wire
		strict strictwire.Wire
		gone   string
	}{
		{recordings.Chat, strictwire.Chat(), ""}, {recordings.Responses, strictwire.Responses(), ""},
		{recordings.Anthropic, strictwire.Messages(), "sampling"}, {recordings.Gemini, strictwire.Gemini(), ""},
	} {
		for _, r := range recordings.All(t, w.wire) {
			if !r.HasRequest || r.Status != http.StatusOK || extended.MatchString(r.Name) {
				continue
			}
			checked[w.wire]++
			model, _, _ := strings.Cut(r.Path[strings.LastIndex(r.Path, "/")+1:], ":")
			broken := w.strict.Broken(model, r.Request(t), "")
			broken = slices.DeleteFunc(broken, func(no strictwire.Refusal) bool { return no.Rule == w.gone })
			assert.Empty(t, broken, "%s/%s", w.wire, r.Name)
		}
	}
	t.Logf("requests that were taken: %v", checked)
	for wire, n := range checked {
		assert.Greater(t, n, 5, "%s: too few to prove anything", wire)
	}
	assert.Len(t, checked, 4)
}
