package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
)

var notInFileNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// HistoryFile returns the file in the state directory with the lines that were entered in a place: the directory of a project, or the URL
// of a server.
func HistoryFile(state, place string) string {
	sum := sha256.Sum256([]byte(place))
	name := notInFileNames.ReplaceAllString(filepath.Base(place), "_") + "-" + hex.EncodeToString(sum[:6]) + ".jsonl"
	return filepath.Join(state, "history", name)
}
