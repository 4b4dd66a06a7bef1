package keys

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/grapnel-go/grapnel/internal/conffile"
)

// fromFile reads a file that only its owner can read. It checks the file that it has opened,
// so that nobody can put another one in its place meanwhile.
func (k *Keys) fromFile(path string) (string, error) {
	path, err := k.expanded(path)
	if err != nil {
		return "", err
	}
	f, err := conffile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("others can read or change %s; run: chmod 600 %s", path, path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	if err != nil {
		return "", err
	}
	if _, err := valid(string(data)); err != nil {
		return "", fmt.Errorf("%s must hold a key in one line: %w", path, err)
	}
	return string(data), nil
}

// expanded returns the path with the home directory for ~/.
func (k *Keys) expanded(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path, nil
	}
	home := k.o.Getenv("HOME")
	if home == "" {
		return "", errors.New("~ has no meaning without HOME; write the whole path")
	}
	return filepath.Join(home, rest), nil
}
