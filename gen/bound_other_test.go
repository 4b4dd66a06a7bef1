//go:build !linux

package gen_test

import "testing"

// bound needs a system on which a process can give up a right of its user.
func bound(t *testing.T) {
	t.Helper()
	t.Skip("SKIPPED: permissions do not bind this user")
}
