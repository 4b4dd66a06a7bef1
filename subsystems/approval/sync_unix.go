//go:build unix

package approval

import (
	"errors"
	"os"
)

// syncDir makes what was renamed in a directory last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
