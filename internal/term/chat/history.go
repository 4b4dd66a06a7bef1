package chat

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"

	"github.com/grapnel-go/grapnel/internal/app"
)

var notInFileNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// HistoryFile returns the file with the lines that were entered in the project.
func HistoryFile(p app.Paths) string {
	sum := sha256.Sum256([]byte(p.Root))
	name := notInFileNames.ReplaceAllString(filepath.Base(p.Root), "_") + "-" + hex.EncodeToString(sum[:6]) + ".jsonl"
	return filepath.Join(p.State, "history", name)
}
