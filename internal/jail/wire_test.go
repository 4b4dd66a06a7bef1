package jail

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Paths of any bytes arrive as they are.
func TestPathsOfAnyBytes(t *testing.T) {
	t.Parallel()
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	path := "/" + string(all) + "é"
	for _, s := range []Spec{
		{Base: path, Write: []string{path, ""}, Read: []string{}, Mounts: []Mount{{Op: Bind, Source: path, Within: path, Target: path, Upper: path, Work: path, Number: 1 << 63}}},
		{},
	} {
		data, err := json.Marshal(Command{Spec: s})
		require.NoError(t, err)
		var got Command
		require.NoError(t, json.Unmarshal(data, &got))
		assert.Equal(t, len(s.Read), len(got.Spec.Read))
		got.Spec.Read = s.Read
		assert.Equal(t, s, got.Spec)
	}
}
