package chat

import "github.com/grapnel-go/grapnel/internal/app"

// HistoryFile returns the file with the lines that were entered in the project.
func HistoryFile(p app.Paths) string { return p.History() }
