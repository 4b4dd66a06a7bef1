//go:build !linux

package needs

import "testing"

// Namespaces needs Linux, for the full level of the sandbox.
func Namespaces(t testing.TB) {
	t.Helper()
	Lacking(t, "there are namespaces on Linux only")
}

// HasNamespaces reports that there are none.
func HasNamespaces() bool { return false }
