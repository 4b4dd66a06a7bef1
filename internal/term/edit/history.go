package edit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/grapnel-go/grapnel/internal/conffile"
)

const (
	// maxEntries limits the entries of a history.
	maxEntries = 1000
	// maxHistory limits the file in bytes. It is shortened at twice maxEntries, and JSON
	// may need six bytes for one.
	maxHistory = 2 * maxEntries * 6 * maxEntry
	// maxEntry limits the entries that are kept, in bytes.
	maxEntry = 16 << 10
)

// History has the lines entered before, in a file for the user alone: one JSON string for
// each, so that an entry may have line breaks. Nil is an empty history. One goroutine at a
// time may use it; several processes may share the file.
type History struct {
	path    string
	entries []string
}

// OpenHistory reads a history. A missing file is an empty history; the first Add makes it.
// Wrong lines are ignored.
func OpenHistory(path string) (*History, error) {
	h := &History{path: path}
	data, err := conffile.Read(path, &conffile.Options{Max: maxHistory, Binary: true})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return h, nil
	case err != nil:
		return nil, fmt.Errorf("read the history: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		var entry string
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry != "" {
			h.remember(entry)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	if bytes.Count(data, []byte("\n")) > 2*maxEntries {
		return h, h.rewrite()
	}
	return h, nil
}

func (h *History) len() int {
	if h == nil {
		return 0
	}
	return len(h.entries)
}

func (h *History) entry(i int) string { return h.entries[i] }

// Add adds an entry, in memory and in the file. It ignores an entry that is empty, very
// long, equal to the last one, or begins with a blank: with a blank, a person keeps a secret
// out of the history.
func (h *History) Add(entry string) error {
	blank := strings.TrimSpace(entry) == "" || strings.HasPrefix(entry, " ") || strings.HasPrefix(entry, "\t")
	if h == nil || blank || len(entry) > maxEntry || !h.remember(entry) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return fmt.Errorf("keep the history: %w", err)
	}
	if info, err := os.Lstat(h.path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("keep the history: %s is no regular file; move it away", h.path)
	}
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("keep the history: %w", err)
	}
	_, err = f.Write(encoded(entry))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("keep the history: %w", err)
	}
	return nil
}

func encoded(entry string) []byte {
	data, err := json.Marshal(entry)
	if err != nil { // cannot happen for a string
		return nil
	}
	return append(data, '\n')
}

// remember adds an entry in memory; false if it is the last one again.
func (h *History) remember(entry string) bool {
	if n := len(h.entries); n > 0 && h.entries[n-1] == entry {
		return false
	}
	h.entries = append(h.entries, entry)
	if n := len(h.entries); n > maxEntries {
		h.entries = h.entries[n-maxEntries:]
	}
	return true
}

// rewrite replaces the file by one with the entries in memory.
func (h *History) rewrite() error {
	var buf bytes.Buffer
	for _, entry := range h.entries {
		buf.Write(encoded(entry))
	}
	temp, err := os.CreateTemp(filepath.Dir(h.path), ".history-*") // 0600
	if err != nil {
		return fmt.Errorf("shorten the history: %w", err)
	}
	_, err = temp.Write(buf.Bytes())
	if err == nil {
		err = temp.Sync() // else a loss of power could leave an empty file
	}
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), h.path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return fmt.Errorf("shorten the history: %w", err)
	}
	return nil
}
