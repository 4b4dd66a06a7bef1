//go:build unix

package approval

import (
	"errors"
	"os"
)

// syncDir syncs a directory to disk after a rename in it.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
