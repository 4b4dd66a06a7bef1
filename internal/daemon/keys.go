package daemon

import (
	"fmt"
	"path/filepath"

	"github.com/grapnel-go/grapnel/internal/pathlinks"
)

// keyFile is a file that says who may come in, and the flag that names it.
type keyFile struct{ flag, path string }

// outside returns an error if one of the files is in the project, or is reached through it: there, commands of agents read and write
// without a question, and the files are read again when they change.
func outside(project string, files ...keyFile) error {
	for _, f := range files {
		path, err := filepath.Abs(f.path)
		if err != nil {
			return err
		}
		if f.path != "" && pathlinks.Reaches(path, project) {
			return fmt.Errorf("%s: %s is in the project %s, or reached through it, and commands of agents may read and write there; keep it elsewhere, such as in ~/.grapnel/keys",
				f.flag, f.path, project)
		}
	}
	return nil
}
