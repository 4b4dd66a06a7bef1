package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

func TestCallID(t *testing.T) {
	t.Parallel()
	for _, kept := range []string{"call_1", "toolu_01A-z", strings.Repeat("a", 40)} {
		assert.Equal(t, kept, wire.CallID(kept, 40))
	}
	seen := map[string]bool{}
	for _, foreign := range []string{"", "functions.read:0", "a b", "é", strings.Repeat("a", 41), strings.Repeat("a", 42)} {
		id := wire.CallID(foreign, 40)
		assert.Regexp(t, `^[a-zA-Z0-9_-]{1,40}$`, id)
		assert.Equal(t, id, wire.CallID(foreign, 40), "a result must still fit its call")
		assert.False(t, seen[id], "%q and another one have the same id", foreign)
		seen[id] = true
	}
}

func TestUniqueIDs(t *testing.T) {
	t.Parallel()
	var ids wire.IDs
	var got []string
	for at, id := range []string{"a", "", "a", "call_7_1", "b"} {
		got = append(got, ids.Unique(id, 7, at))
	}
	assert.Equal(t, []string{"a", "call_7_1", "call_7_2", "call_7_3", "b"}, got)
}

func TestMembers(t *testing.T) {
	t.Parallel()
	reserved := func(key string) bool { return key == "model" }
	for extra, want := range map[message.JSON]string{"": "", " { } ": "", ` {"b":{}, "a":1} `: `,"a":1,"b":{}`} {
		got, err := wire.Members(extra, reserved)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for extra, why := range map[message.JSON]string{`[]`: "not a JSON object", `null`: "not a JSON object", `{"a":`: "not a JSON object", `{"model":1}`: `may not set "model"`} {
		_, err := wire.Members(extra, reserved)
		assert.ErrorContains(t, err, why)
	}
}

func TestWrongServers(t *testing.T) {
	t.Parallel()
	for _, c := range []wire.Config{{BaseURL: "localhost:80"}, {BaseURL: "http://user:" + canary + "@[::1"}, {BaseURL: "file:///x"}, {BaseURL: "http://model.test", Key: canary + "\n"}} {
		c.Vendor = "acme"
		s, err := wire.NewServer(c)
		require.ErrorIs(t, err, provider.ErrOptions)
		assert.True(t, strings.HasPrefix(err.Error(), "acme: wrong options: "), err)
		assert.NotContains(t, err.Error(), canary)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
			assert.NotContains(t, fmt.Sprintf(verb, s), canary)
		}
	}
}
