package term

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/screen"
)

// maxDiffed limits the files whose difference is shown, in bytes.
const maxDiffed = 1 << 20

// Diff returns the changes of a call of edit or write in the current file, as a unified
// diff, cut like [Preview]. It reads files below root only. It returns false for other
// tools, if the call would fail, and if the file is not text or too large; show those with
// Preview.
func Diff(root string, call *hook.ToolCall, lines int, color bool) (text screen.Text, cut, ok bool) {
	c, ok := changeOf(root, call)
	if !ok {
		return screen.Text{}, false, false
	}
	edits := udiff.Lines(c.before, c.after)
	diff, err := udiff.ToUnified("before", "after", c.before, edits, udiff.DefaultContextLines)
	if err != nil {
		return screen.Text{}, false, false
	}
	p := previewer{lines: lines, color: color}
	what := ""
	switch {
	case c.made:
		what = " (new)"
	case c.before == c.after:
		what = " (no change)"
	}
	p.row(screen.Plain, screen.Format("  %s%s", c.name, what))
	p.diff(diff)
	return screen.Join(p.rows...), p.cut, true
}

// change is the change of a call in one file.
type change struct {
	name, before, after string
	made                bool
}

func changeOf(root string, call *hook.ToolCall) (change, bool) {
	var in struct {
		FilePath   string  `json:"file_path"`
		OldString  string  `json:"old_string"`
		NewString  string  `json:"new_string"`
		ReplaceAll bool    `json:"replace_all"`
		Content    *string `json:"content"`
	}
	if name := call.Name(); name != "edit" && name != "write" || json.Unmarshal([]byte(call.Args()), &in) != nil {
		return change{}, false
	}
	c := change{name: in.FilePath}
	var err error
	c.before, err = readBelow(root, in.FilePath)
	switch {
	case call.Name() == "write" && in.Content != nil:
		c.made = errors.Is(err, fs.ErrNotExist)
		c.after = *in.Content
		return c.shown(), err == nil || c.made
	case err != nil || in.OldString == "":
		return change{}, false
	}
	old, repl := in.OldString, in.NewString
	if allCRLF(c.before) {
		old, repl = toCRLF(old), toCRLF(repl)
	}
	switch n := strings.Count(c.before, old); {
	case n == 0, n > 1 && !in.ReplaceAll:
		return change{}, false
	}
	c.after = strings.ReplaceAll(c.before, old, repl)
	return c.shown(), true
}

// shown removes CR if every line has it, before and after.
func (c change) shown() change {
	if allCRLF(c.before) && allCRLF(c.after) {
		c.before = strings.ReplaceAll(c.before, "\r\n", "\n")
		c.after = strings.ReplaceAll(c.after, "\r\n", "\n")
	}
	return c
}

func allCRLF(s string) bool {
	n := strings.Count(s, "\r\n")
	return n > 0 && n == strings.Count(s, "\n")
}

func toCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

// errNotShown: the difference of the file cannot be shown.
var errNotShown = errors.New("no text file of a size to show")

func readBelow(root, path string) (string, error) {
	if filepath.IsAbs(path) {
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return "", err
		}
		path = rel
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return "", errNotShown
	}
	defer func() { _ = r.Close() }() // nothing was written
	// Opening another kind of file could block.
	info, err := r.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > maxDiffed {
		return "", errNotShown
	}
	f, err := r.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxDiffed+1))
	if err == nil && (len(data) > maxDiffed || bytes.IndexByte(data, 0) >= 0) {
		err = errNotShown
	}
	return string(data), err
}

func (p *previewer) diff(text string) {
	var rows []string
	for row := range strings.Lines(text) {
		rows = append(rows, strings.TrimSuffix(row, "\n"))
	}
	rows = rows[min(2, len(rows)):] // the names of the files
	rest := 0
	if p.lines > 0 && len(rows) > p.lines {
		rest, rows = len(rows)-p.lines, rows[:p.lines]
	}
	for _, row := range rows {
		p.row(diffColor(row), screen.Format("  %s", row))
	}
	p.more(rest)
}

func diffColor(row string) screen.Style {
	switch {
	case strings.HasPrefix(row, "-"):
		return screen.Red
	case strings.HasPrefix(row, "+"):
		return screen.Green
	case strings.HasPrefix(row, "@@"):
		return screen.Cyan
	case strings.HasPrefix(row, `\`):
		return screen.Dim
	}
	return screen.Plain
}
