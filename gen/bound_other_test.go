//go:build !linux

package gen_test

import (
	"testing"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// bound needs a system on which a process can give up a right of its user.
func bound(t *testing.T) {
	t.Helper()
	needs.Lacking(t, "permissions do not bind this user")
}
