package sensitive

import (
	"regexp"
	"strings"
)

// Private keys have lines of their own (RFC 7468), or stand in one line with escaped ends. What is masked is not seen by who approves
// a call, so nothing passes for a key but what can be one: a command between the two lines is shown.

const kindKey = "private-key"

// keyBlock knows whether the next line is one of a private key. short: the last one was shorter than leastLine, so it was the last of the
// key.
type keyBlock struct{ open, short bool }

// leastLine is how long each line of a key is at least, but for the last one; RFC 7468 says 64.
const leastLine = 16

// keyHeader is a header of older formats.
const keyHeader = `(?:Proc-Type|DEK-Info|Version|Comment): [0-9A-Za-z ,.:/()@_-]{0,100}`

var (
	keyBegins = regexp.MustCompile(`-----BEGIN [0-9A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----`)
	keyEnds   = regexp.MustCompile(`-----END [0-9A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----`)
	// inKey are the lines of a key: base64, headers of older formats, and what indents or quotes them.
	inKey = regexp.MustCompile("^[ \t>|+\"'`]*(?:([0-9A-Za-z+/=]{0,120})|" + keyHeader + ")[ \t\"'`,;+]*(?:\\\\[nr])*[\"'`+ ]*\r?\n?$")
	// keyEnd is the last line, which may have the last piece of the key.
	keyEnd = regexp.MustCompile("^[ \t>|+\"'`]*[0-9A-Za-z+/=]{0,105}" + oneLineEnds.String()[1:])
	// oneLine is the text between the ends of a key in one line, or as much of it as can be one.
	oneLine = regexp.MustCompile("^(?:\\\\+[nrt]|[ \t\"'`+,]|[0-9A-Za-z+/=]{16,}|" + keyHeader + "\\\\+n)*")
	// oneLineEnds is the last piece of such a key with its end.
	oneLineEnds = regexp.MustCompile("^[0-9A-Za-z+/=]{0,15}(?:\\\\+[nrt]|[ \t\"'`+,])*" + keyEnds.String())
)

// next takes the next line, and returns the part of it that is a key.
func (k *keyBlock) next(line string) (Finding, bool) {
	f := Finding{Class: Secret, Kind: kindKey, End: len(line)}
	if k.open {
		end := keyEnd.FindStringIndex(line)
		switch {
		case end != nil:
			k.open = false
			f.End = end[1]
			return f, true
		case len(line) < 1024 && k.goesOn(line):
			return f, true
		}
		k.open = false
	}
	if !strings.Contains(line, "-----BEGIN ") {
		return f, false
	}
	at := keyBegins.FindStringIndex(line)
	if at == nil {
		return f, false
	}
	f.Start = at[0]
	key := oneLine.FindString(line[at[1]:])
	rest := line[at[1]+len(key):]
	end := oneLineEnds.FindStringIndex(rest)
	k.open, k.short = end == nil, false
	switch {
	case end != nil:
		f.End = at[1] + len(key) + end[1]
	case strings.Trim(rest, "\r\n") != "": // a quote behind the key is that of the command around it
		f.End = at[1] + len(strings.TrimRight(key, " \t\"'`+,"))
	}
	return f, true
}

// goesOn reports whether an open key has the line.
func (k *keyBlock) goesOn(line string) bool {
	in := inKey.FindStringSubmatch(line)
	if in == nil || k.short && in[1] != "" {
		return false
	}
	k.short = in[1] != "" && len(in[1]) < leastLine
	return true
}
