package ostools

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// GlobInput are the arguments of glob.
type GlobInput struct {
	// Pattern of the paths: * within a name, ** for any directories, ? for one character, [a-z], {go,mod}.
	Pattern string `json:"pattern" hook:"minlen=1"`
	// Directory to search in; without it, the root.
	Path string `json:"path,omitzero"`
}

// Glob lists the files whose path fits a pattern, sorted, one per line.
// "**/*.go" is every Go file, "*.go" only those in the directory itself. Contents
// of .git and node_modules are passed over unless the search starts in them; links
// are listed, not followed. At most 1000 paths are shown.
//
//hook:tool trust=workspace readonly idempotent
func (o *OS) Glob(ctx context.Context, env *hook.Env, in GlobInput) (message.ToolResult, error) {
	dir, text, err := o.startOf(in)
	if err != nil {
		return message.ToolResult{}, err
	}
	pat, err := newPattern(text, true)
	if err != nil {
		return message.ToolResult{}, err
	}
	p, err := o.begin(env.Grant, dir)
	if err != nil {
		return message.ToolResult{}, err
	}
	defer p.done()
	out := newFound(env.Grant)
	cut, err := walk(ctx, p, func(rel string, _ fs.DirEntry) error {
		if pat.match(below(p.rel, rel)) && !out.add(p.name(rel)) {
			return errEnough
		}
		return nil
	})
	if err != nil {
		return message.ToolResult{}, err
	}
	return workspace(out.text(fmt.Sprintf("No file fits %q.", in.Pattern), cut)), nil
}

// startOf joins the directory and the literal part of the pattern. So the search starts as
// deep as possible, and "../x" is refused like any other path.
func (o *OS) startOf(in GlobInput) (dir, text string, err error) {
	base, text := doublestar.SplitPattern(filepath.ToSlash(in.Pattern))
	for _, part := range strings.Split(text, "/") {
		if part == ".." {
			return "", "", failf(message.FailArguments, "%q has .. after a wildcard", in.Pattern)
		}
	}
	switch {
	case base == ".":
		return in.Path, text, nil
	case filepath.IsAbs(base) || in.Path == "":
		return base, text, nil
	}
	return filepath.Join(in.Path, base), text, nil
}
