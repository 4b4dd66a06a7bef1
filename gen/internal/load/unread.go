package load

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/grapnel-go/grapnel/internal/origin"
)

// Unread is a Go file that is not part of the build.
type Unread struct {
	// Name is absolute.
	Name string
	// Test: it is a test; otherwise build constraints exclude it.
	Test bool
	Text []byte
}

// Unread returns the test files and excluded files in the directories of the roots that match accepts.
func (l *Listing) Unread(match func(text []byte) bool) []Unread {
	var out []Unread
	for _, p := range slices.Concat(l.Roots, l.empty) {
		if p.Dir == "" {
			continue
		}
		entries, err := os.ReadDir(p.Dir)
		if err != nil {
			continue // a package that is not on disk yet
		}
		for _, e := range entries {
			name := filepath.Join(p.Dir, e.Name())
			test := strings.HasSuffix(name, "_test.go")
			if !strings.HasSuffix(name, ".go") || !test && !slices.Contains(p.IgnoredFiles, name) {
				continue
			}
			if text, err := os.ReadFile(name); err == nil && match(text) {
				out = append(out, Unread{name, test, text})
			}
		}
	}
	return out
}

// Sources returns the Go files of a package by name, excluded ones too, without tests and generated files.
func (l *Listing) Sources(p *Package) (map[string][]byte, error) {
	out, err := origin.Read(p.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a draft has no directory yet
		return nil, err
	}
	for name, text := range l.texts {
		if base := filepath.Base(name); filepath.Dir(name) == p.Dir && origin.Source(base) {
			if out == nil {
				out = map[string][]byte{}
			}
			out[base] = text
		}
	}
	return out, nil
}

func isEmpty(p *packages.Package) bool { return len(p.GoFiles) == 0 && writable(p) }
