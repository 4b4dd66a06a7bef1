package ostools

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// EditInput are the arguments of edit.
type EditInput struct {
	// Path of the file, relative to the root or absolute and inside it.
	FilePath string `json:"file_path" hook:"minlen=1"`
	// The text to replace, exactly as it stands in the file, without the line numbers that read shows.
	OldString string `json:"old_string" hook:"minlen=1"`
	// The text to put in its place; empty deletes it.
	NewString string `json:"new_string"`
	// Replace every occurrence instead of the only one.
	ReplaceAll bool `json:"replace_all,omitzero"`
}

// Edit replaces a text in a file. old_string must stand in the file exactly once,
// blanks and line breaks included: give enough of the lines around it, or set
// replace_all. Line ends of the file (LF or CR LF) are kept. Nothing is changed if
// it fails.
//
//hook:tool trust=workspace destructive
func (o *OS) Edit(_ context.Context, env *hook.Env, in EditInput) (message.ToolResult, error) {
	switch {
	case in.OldString == "":
		return message.ToolResult{}, failf(message.FailArguments, "old_string is empty; to make a file use write")
	case in.OldString == in.NewString:
		return message.ToolResult{}, failf(message.FailArguments, "old_string and new_string are the same; nothing to change")
	}
	p, err := o.locate(env.Grant, in.FilePath, true)
	if err != nil {
		return message.ToolResult{}, err
	}
	defer p.done()
	rel, unlock, err := o.reserve(p)
	if err != nil {
		return message.ToolResult{}, err
	}
	defer unlock()
	return o.edit(p, rel, in)
}

// edit does the work under the file's lock.
func (o *OS) edit(p place, rel string, in EditInput) (message.ToolResult, error) {
	name := p.name(rel)
	data, before, err := o.content(p, rel)
	if err != nil {
		return message.ToolResult{}, err
	}
	if isBinary(data[:min(len(data), sniffed)]) {
		return message.ToolResult{}, failf(message.FailOperation, "%s is no text in UTF-8: it has NUL bytes", name)
	}
	c, err := substitute(name, string(data), in)
	if err != nil {
		return message.ToolResult{}, err
	}
	if _, err := replaceable(p, rel); err != nil {
		return message.ToolResult{}, err
	}
	// The lock keeps other calls out, but not other programs.
	now, err := p.root.Lstat(rel)
	if err != nil || !os.SameFile(before, now) || now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime()) {
		return message.ToolResult{}, failf(message.FailOperation, "%s was changed by somebody else at the same time; read it again", name)
	}
	if err := replace(p, rel, []byte(c.text), before); err != nil {
		return message.ToolResult{}, pathError(name, err)
	}
	if c.count == 1 {
		return workspace(fmt.Sprintf("Edited %s at line %d.", name, c.line)), nil
	}
	return workspace(fmt.Sprintf("Edited %s: %d replacements, the first at line %d.", name, c.count, c.line)), nil
}

type change struct {
	text        string
	count, line int
}

// substitute does the replacement in a text.
func substitute(name, text string, in EditInput) (change, error) {
	old, repl := lineEnds(text, in)
	at := strings.Index(text, old)
	if at < 0 {
		return change{}, failf(message.FailOperation, "old_string is not in %s; read the file and copy the text exactly, blanks included", name)
	}
	c := change{count: 1, line: 1 + strings.Count(text[:at], "\n")}
	// Occurrences that overlap are two as well.
	if again := strings.Index(text[at+1:], old); again >= 0 && !in.ReplaceAll {
		return change{}, failf(message.FailOperation,
			"old_string is in %s more than once, at lines %d and %d for instance; give more of the text around it, or set replace_all",
			name, c.line, 1+strings.Count(text[:at+1+again], "\n"))
	}
	if in.ReplaceAll {
		c.count = strings.Count(text, old)
	}
	if size := len(text) + c.count*(len(repl)-len(old)); size > maxFile {
		return change{}, failf(message.FailOperation, "%s would have %d bytes; the limit is %d", name, size, maxFile)
	}
	c.text = strings.Replace(text, old, repl, c.count)
	return c, nil
}

// lineEnds converts old and new text to the line ends of the file. The model does not see
// them, and always writes LF.
func lineEnds(text string, in EditInput) (old, repl string) {
	breaks := strings.Count(text, "\n")
	crlf := strings.Count(text, "\r\n")
	all := breaks > 0 && crlf == breaks
	if crlf == 0 || !all && strings.Contains(text, in.OldString) {
		return in.OldString, in.NewString
	}
	return toCRLF(in.OldString), toCRLF(in.NewString)
}

func toCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}
