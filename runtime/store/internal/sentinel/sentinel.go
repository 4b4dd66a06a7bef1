// Package sentinel knows the errors of the contract of stores.
package sentinel

import (
	"errors"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// Is reports whether err is one that the contract names and that says all by itself: what a caller did, or what another
// process has done. Others get the action that failed.
func Is(err error) bool {
	for _, known := range []error{
		store.ErrConflict, store.ErrFenced, store.ErrLeased, store.ErrUnknown,
		store.ErrExists, store.ErrCompacted, store.ErrNoTurn, store.ErrDamaged, store.ErrKey, store.ErrNotEmpty,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
