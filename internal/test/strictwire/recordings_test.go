package strictwire_test

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/test/recordings"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
)

// extended are requests with members or tools that these vendors' rules do not have: of
// gateways, and of tools that the vendor defines.
var extended = regexp.MustCompile("^(openrouter|vercel|computer)-")

// What the vendors' servers have taken, a strict server takes too.
func TestRecordedRequestsAreTaken(t *testing.T) {
	t.Parallel()
	checked := 0
	for wire, check := range map[recordings.Wire]func([]byte) *strictwire.Refusal{recordings.Chat: strictwire.CheckOpenAI, recordings.Anthropic: strictwire.CheckAnthropic} {
		for _, r := range recordings.All(t, wire) {
			if r.HasRequest && r.Status == http.StatusOK && !extended.MatchString(r.Name) {
				checked++
				assert.Nil(t, check(r.Request(t)), "%s/%s", wire, r.Name)
			}
		}
	}
	assert.Greater(t, checked, 60)
}
