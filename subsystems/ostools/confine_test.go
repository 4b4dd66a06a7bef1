package ostools_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/sandbox"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
)

// TestConfined: a person who is asked about a command reads what it could do.
func TestConfined(t *testing.T) {
	t.Parallel()
	const plain, outside, wrong = `{"command":"true"}`, `{"command":"true","needs":["outside"]}`, `{"command":"true","needs":["fly"]}`
	none, _ := newOS(t, nil)
	assert.Empty(t, none.Confined(plain, hook.Grant{}), "without a sandbox there is nothing to say")

	for _, mode := range []sandbox.Mode{sandbox.Project, sandbox.Unrestricted} {
		root, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		box, err := sandbox.New(sandbox.Options{Project: root, State: filepath.Join(t.TempDir(), "state"), Mode: mode, Environ: []string{"PATH=/usr/bin:/usr/bin"}})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, box.Close()) })
		o, err := ostools.New(root, &ostools.Options{Sandbox: box})
		require.NoError(t, err)
		text := func(args message.JSON, g hook.Grant) string { return strings.Join(o.Confined(args, g), "\n") }

		assert.Equal(t, "It would run outside of the sandbox, and could do whatever the user can do who runs this program.", text(outside, hook.Grant{}))
		assert.Contains(t, text(wrong, hook.Grant{}), "The tool would refuse this call: ")
		assert.Contains(t, text(plain, hook.Grant{Void: true}), "The tool would refuse this call: ")
		switch said := text(plain, hook.Grant{}); {
		case mode == sandbox.Unrestricted:
			assert.Equal(t, "The sandbox is off: it could do whatever the user can do who runs this program.", said)
		case box.Report().Level == sandbox.None:
			assert.Contains(t, said, "This machine cannot enforce the sandbox")
		default:
			assert.Contains(t, said, "It could change: ")
			assert.Contains(t, said, root)
			assert.Contains(t, said, "It could reach no host.")
			for _, line := range o.Confined(plain, hook.Grant{ReadOnly: true}) {
				assert.False(t, strings.HasPrefix(line, "It could change: ") && strings.Contains(line, root), "a call that is kept to reading: %s", line)
			}
		}
	}
	assert.Empty(t, none.Confined(`[]`, hook.Grant{}))
}
