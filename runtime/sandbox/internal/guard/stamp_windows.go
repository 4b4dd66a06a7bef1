package guard

import (
	"errors"
	"io/fs"
	"os"
)

// stampOf tells nothing here: there is no sandbox on this system.
func stampOf(fs.FileInfo) stamp { return stamp{} }

func rename(*os.File, string, string) error { return errors.ErrUnsupported }

func namesOf(fs.FileInfo) uint64 { return 1 }
