package keys_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/keys"
)

// TestNoKeyring: without a D-Bus session the error says what to do instead, and none is started.
func TestNoKeyring(t *testing.T) {
	t.Parallel()
	_, err := keys.System(env(map[string]string{"DBUS_SESSION_BUS_ADDRESS": "autolaunch:"}), "grapnel", "work")
	assert.ErrorContains(t, err, "there is no keyring here (no D-Bus session with a secret service); keep the key in a file that only you can read (key: {file: …})")
	_, err = keys.System(env(map[string]string{"DBUS_SESSION_BUS_ADDRESS": "unix:path=" + filepath.Join(t.TempDir(), "none")}), "grapnel", "work")
	assert.Error(t, err)
}
