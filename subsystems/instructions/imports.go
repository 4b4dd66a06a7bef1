package instructions

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// endings are those of documents, for people.
const endings = ".md, .mdx, .mdc, .markdown, .txt, .rst or .adoc"

// document reports whether the name is that of a document. Nothing else is read: a project
// could otherwise show a model the file with somebody's keys, whatever the rules say about
// tools.
func document(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".mdx", ".mdc", ".markdown", ".txt", ".rst", ".adoc":
		return true
	}
	return false
}

// mention matches @path at the begin of a word. A backslash before a blank keeps the blank.
var mention = regexp.MustCompile(`(?:^|[\s(])@((?:[^\s\\]|\\[ \\])+)`)

// mentions returns what stands behind @ outside of code, each once, in order. bare reports
// whether the text has nothing else.
func mentions(text string) (found []string, bare bool) {
	prose := withoutCode(text)
	for _, m := range mention.FindAllStringSubmatch(prose, -1) {
		if name := strings.NewReplacer(`\ `, " ", `\\`, `\`).Replace(m[1]); !slices.Contains(found, name) {
			found = append(found, name)
		}
		if len(found) > maxMentions {
			break
		}
	}
	return found, strings.TrimSpace(mention.ReplaceAllString(prose, " ")) == ""
}

// imported returns the path of a document in what stands behind @; "" if it is something
// else, such as the name of a person. It drops an anchor and the punctuation of the sentence.
func imported(name string) string {
	if at := strings.IndexByte(name, '#'); at > 0 {
		name = name[:at]
	}
	if !document(name) {
		name = strings.TrimRight(name, ".,;:!?)]}'\"*_>`")
	}
	if !document(name) {
		return ""
	}
	return name
}

// code stands for code that was removed, so that a text with code is not bare.
const code = " \x00 "

// withoutCode returns the text without fenced blocks and without spans between backticks.
// Its time is linear in the text.
func withoutCode(text string) string {
	var out, paragraph strings.Builder
	flush := func() {
		out.WriteString(withoutSpans(paragraph.String()))
		paragraph.Reset()
	}
	fence := ""
	for line := range strings.Lines(text) {
		marks, info := fenceOf(line)
		switch {
		case fence != "":
			if strings.HasPrefix(marks, fence) && strings.TrimSpace(info) == "" {
				fence = ""
			}
		case marks != "" && (marks[0] == '~' || !strings.Contains(info, "`")):
			flush()
			fence = marks
			out.WriteString("\n" + code + "\n")
		case strings.TrimSpace(line) == "":
			flush()
			out.WriteString("\n")
		default:
			paragraph.WriteString(line)
		}
	}
	flush()
	return out.String()
}

// fenceOf returns the marks that begin or end a fenced block, and what follows them.
func fenceOf(line string) (marks, info string) {
	rest := strings.TrimLeft(line, " \t>")
	for _, mark := range []string{"`", "~"} {
		info = strings.TrimLeft(rest, mark)
		if n := len(rest) - len(info); n >= 3 {
			return rest[:n], info
		}
	}
	return "", ""
}

// withoutSpans removes the spans of code from a paragraph: from a run of backticks to the
// next one of the same length.
func withoutSpans(text string) string {
	type run struct{ at, size, next int }
	var runs []run
	for at := 0; at < len(text); {
		start := strings.IndexByte(text[at:], '`')
		if start < 0 {
			break
		}
		start += at
		for at = start; at < len(text) && text[at] == '`'; at++ {
		}
		runs = append(runs, run{at: start, size: at - start})
	}
	after := map[int]int{}
	for i, r := range slices.Backward(runs) {
		runs[i].next = cmp.Or(after[r.size], -1)
		after[r.size] = i
	}
	var out strings.Builder
	at := 0
	for i := 0; i < len(runs); i++ {
		if next := runs[i].next; next > 0 {
			out.WriteString(text[at:runs[i].at] + code)
			at, i = runs[next].at+runs[next].size, next
		}
	}
	out.WriteString(text[at:])
	return out.String()
}
