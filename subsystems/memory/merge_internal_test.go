package memory

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
)

// What a page says confirms a memory at most: it does not choose by which words the memory is found.
func TestAWeakerOriginAddsNoAliases(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		origin Origin
		trust  message.Trust
		merged string
		found  []string
	}{
		{OriginPage, message.TrustExternal, "", []string{"wire transfer"}}, // a memory of its own, with its mark
		{OriginModel, message.TrustWorkspace, "fee", nil},
		{OriginUser, message.TrustWorkspace, "fee", []string{"fee"}},
	} {
		m, err := Open(t.Context(), filepath.Join(t.TempDir(), "m.db"), nil)
		require.NoError(t, err)
		h := home{"", "agent:a"}
		add := func(name string, l label) putResult {
			done, err := m.table.put(t.Context(), h, entry{name: name, content: "The harbour fee is paid in cash at the kiosk.", kind: KindFact, label: l}, func(version) bool { return true })
			require.NoError(t, err)
			return done
		}
		add("fee", label{OriginUser, message.TrustWorkspace})
		assert.Equal(t, tt.merged, add("wire transfer", label{tt.origin, tt.trust}).merged)
		found, err := m.table.find(t.Context(), []home{h}, search{query: "transfer", limit: 5})
		require.NoError(t, err)
		var names []string
		for _, h := range found {
			names = append(names, h.name)
		}
		assert.Equal(t, tt.found, names, tt.origin)
		require.NoError(t, m.OnClose(t.Context()))
	}
}
