package script_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// A file is a script or an error, and a script answers or says why not.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		choosing, "", "#", "---\n", "rules:\n", "rules: [~]", "rules: [{say: a, pace: {bytes: 1}}]", "? a\n: b", "!!binary x", "&a [*a]",
		"rules: [{calls: [{tool: t, args: {a: [0x1, 1_000, 0o7, 1e5, .5, +1, 2001-01-01, ~, yes, <<: x]}}]}]",
		"rules: [{say: '${user}${result}$${x}', when: {result: [t, {contains: x}]}}]", "rules: [{calls: [{tool: t, raw: '{'}]}]",
		"rules: [{calls: [{tool: t, args: {'${user}': '${user}', b: {c: !!str 1}}}]}]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := script.Parse("f", data)
		if err != nil {
			require.Nil(t, s)
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // the script may ask to wait
		defer cancel()
		req := request("hello \"user\"", "> call", "! t x")
		reply, err := provider.Collect(s.Stream(ctx, req))
		require.NotErrorIs(t, err, provider.ErrProtocol)
		for _, call := range reply.Calls() {
			require.Equal(t, message.BlockToolCall, call.Kind)
		}
	})
}
