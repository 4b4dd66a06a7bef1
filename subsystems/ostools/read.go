package ostools

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

const (
	// defaultLimit is the default number of lines that read shows.
	defaultLimit = 2000
	// maxLine limits one line, and maxText all lines, in bytes. Together with the remarks
	// about the file, at most maxRemarks, an answer fits a runtime's limit for results.
	maxLine    = 2000
	maxText    = 100_000 - maxRemarks
	maxRemarks = 500
)

// ReadInput are the arguments of read.
type ReadInput struct {
	// Path of the file, relative to the root or absolute and inside it.
	FilePath string `json:"file_path" hook:"minlen=1"`
	// First line to show, counted from 1. Without it, the beginning of the file.
	Offset int `json:"offset,omitzero" hook:"min=0"`
	// How many lines to show. Without it, 2000.
	Limit int `json:"limit,omitzero" hook:"min=0"`
}

// Read shows a text file. Each line comes as its number, a tab and its text; the
// last line of the answer says how many lines the file has and which are shown. A
// line of more than 2000 bytes is cut, and so is an answer of more than 100000:
// go on with offset. An offset past the end is no failure. The numbers and tabs
// are not part of the file.
//
//hook:tool trust=workspace readonly idempotent
func (o *OS) Read(ctx context.Context, env *hook.Env, in ReadInput) (message.ToolResult, error) {
	p, err := o.locate(env.Grant, in.FilePath, false)
	if err != nil {
		return message.ToolResult{}, err
	}
	defer p.done()
	f, info, err := o.open(p, p.rel)
	if err != nil {
		return message.ToolResult{}, err
	}
	defer f.Close()
	v := view{
		lines: newLines(io.LimitReader(f, maxFile), maxLine),
		from:  max(in.Offset, 1), limit: in.Limit, room: maxText,
	}
	if v.limit == 0 {
		v.limit = defaultLimit
	}
	if m := env.Grant.MaxOutput; m > 0 {
		v.room = min(v.room, m)
	}
	if v.lines.binary() {
		return message.ToolResult{}, failf(message.FailOperation, "%s is no text in UTF-8: it has NUL bytes (%d bytes in all)", p.name(p.rel), info.Size())
	}
	if err := v.fill(ctx); err != nil {
		return message.ToolResult{}, pathError(p.name(p.rel), err)
	}
	return workspace(v.text()), nil
}

// view is a range of the lines of a file.
type view struct {
	lines             *lines
	from, limit, room int

	sb          strings.Builder
	first, last int
	full        bool
	odd         int
}

// fill reads to the end of the file, because the total is part of the answer.
func (v *view) fill(ctx context.Context) error {
	for {
		line, size, err := v.lines.next()
		if err == io.EOF {
			return nil
		}
		if err == nil && v.lines.number%10_000 == 0 {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if n := v.lines.number; n >= v.from && n-v.from < v.limit && !v.full {
			v.add(n, line, size)
		}
	}
}

func (v *view) add(n int, line []byte, size int) {
	text, whole := shown(line, size)
	number := strconv.Itoa(n)
	if size := len(number) + len("\t\n") + len(text); size > v.room {
		v.full = true
		if v.first > 0 {
			return
		}
		if room := max(0, v.room-len(number)); room < len(text) {
			text = text[:runeEnd(text, room)] + "…"
		}
	}
	if v.first == 0 {
		v.first = n
	}
	if !whole {
		v.odd++
	}
	v.last = n
	v.room -= len(number) + len("\t\n") + len(text)
	v.sb.WriteString(number)
	v.sb.WriteByte('\t')
	v.sb.WriteString(text)
	v.sb.WriteByte('\n')
}

func (v *view) text() string {
	total := v.lines.number
	switch {
	case total == 0:
		v.sb.WriteString("The file is empty.\n")
	case v.first == 0:
		fmt.Fprintf(&v.sb, "Line %d is past the end of the file.\n", v.from)
	}
	if v.full {
		fmt.Fprintf(&v.sb, "The rest is too long for one answer; go on with offset %d.\n", v.last+1)
	}
	if v.odd > 0 {
		fmt.Fprintf(&v.sb, "Not all of this is UTF-8: in %d lines other bytes are shown as \uFFFD.\n", v.odd)
	}
	if v.lines.crlf > 0 {
		fmt.Fprintf(&v.sb, "%d lines of the file end in CR LF; edit keeps that.\n", v.lines.crlf)
	}
	if v.first == 0 {
		fmt.Fprintf(&v.sb, "--- %d total lines (showing none) ---", total)
	} else {
		fmt.Fprintf(&v.sb, "--- %d total lines (showing lines %d-%d) ---", total, v.first, v.last)
	}
	return v.sb.String()
}
