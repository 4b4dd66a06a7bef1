package ostools

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"regexp"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

const (
	// matched is how many bytes of a line grep searches, quoted how many it shows.
	matched = 64 << 10
	quoted  = 500
)

// OutputMode is the form of grep's answer.
type OutputMode string

// The output modes.
const (
	ModeFiles   OutputMode = "files_with_matches"
	ModeContent OutputMode = "content"
	ModeCount   OutputMode = "count"
)

// GrepInput are the arguments of grep.
type GrepInput struct {
	// Regular expression in RE2 syntax: no lookaround, no back references. It is matched against single lines.
	Pattern string `json:"pattern" hook:"minlen=1"`
	// File or directory to search in; without it, the root.
	Path string `json:"path,omitzero"`
	// Only files that fit this pattern: "*.go" by name, "cmd/**/*.go" by path.
	Glob string `json:"glob,omitzero"`
	// Ignore case.
	I bool `json:"-i,omitzero"`
	// Ignore case; the same as -i.
	IgnoreCase bool `json:"ignore_case,omitzero"`
	// What to show: files_with_matches (default) the paths, content the lines as path:number:text, count how many lines per file.
	OutputMode OutputMode `json:"output_mode,omitzero"`
}

// Grep finds lines in files. Files that are not text and the contents of .git and
// node_modules are passed over; links are not followed. Of a line the first 64 KB
// are searched and 500 bytes shown. At most 1000 rows are shown.
//
//hook:tool trust=workspace readonly idempotent
func (o *OS) Grep(ctx context.Context, env *hook.Env, in GrepInput) (message.ToolResult, error) {
	s, err := newSearch(in, env.Grant)
	if err != nil {
		return message.ToolResult{}, err
	}
	p, err := o.begin(env.Grant, in.Path)
	if err != nil {
		return message.ToolResult{}, err
	}
	defer p.done()
	cut, err := walk(ctx, p, func(rel string, d fs.DirEntry) error {
		if !d.Type().IsRegular() || !s.wants(below(p.rel, rel)) {
			return nil
		}
		return o.grep(ctx, p, rel, s)
	})
	if err != nil {
		return message.ToolResult{}, err
	}
	text := s.out.text(fmt.Sprintf("No line fits %q.", in.Pattern), cut)
	if s.refused > 0 {
		text += fmt.Sprintf("[%d files could not be searched: too large, hard links or not readable]\n", s.refused)
	}
	return workspace(text), nil
}

// search is one call of grep.
type search struct {
	re      *regexp.Regexp
	glob    *pattern
	mode    OutputMode
	out     *found
	lines   *lines // one buffer for all files
	refused int
}

func newSearch(in GrepInput, grant hook.Grant) (*search, error) {
	text := in.Pattern
	if in.I || in.IgnoreCase {
		text = "(?i)" + text
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, failf(message.FailArguments, "pattern: %v", err)
	}
	s := &search{re: re, mode: in.OutputMode, out: newFound(grant), lines: newLines(nil, matched)}
	if in.Glob != "" {
		g, err := newPattern(in.Glob, false)
		if err != nil {
			return nil, err
		}
		s.glob = &g
	}
	return s, nil
}

func (s *search) wants(rel string) bool { return s.glob == nil || s.glob.match(rel) }

// grep searches one file. A file that cannot be opened is counted, not reported.
func (o *OS) grep(ctx context.Context, p place, rel string, s *search) error {
	f, _, err := o.open(p, rel)
	if err != nil {
		s.refused++
		return nil
	}
	defer f.Close()
	l := s.lines
	l.reset(io.LimitReader(f, maxFile)) // it may grow meanwhile
	if l.binary() {
		return nil
	}
	count := 0
	for {
		line, size, err := l.next()
		if err != nil {
			break // the end, or a read error: keep the lines found
		}
		if !s.re.Match(line) {
			continue
		}
		count++
		if s.mode == ModeContent && !s.out.add(p.name(rel)+":"+s.row(l.number, line, size)) {
			return errEnough
		}
		if s.mode == ModeFiles || s.mode == "" {
			break
		}
		if count%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return s.sum(p.name(rel), count)
}

// sum adds the row of a whole file.
func (s *search) sum(name string, count int) error {
	switch {
	case count == 0 || s.mode == ModeContent:
		return nil
	case s.mode == ModeCount:
		name = fmt.Sprintf("%s:%d", name, count)
	}
	if !s.out.add(name) {
		return errEnough
	}
	return nil
}

func (s *search) row(number int, line []byte, size int) string {
	if len(line) > quoted {
		line = line[:runeEnd(line, quoted)]
	}
	text, _ := shown(line, size)
	return fmt.Sprintf("%d:%s", number, text)
}
