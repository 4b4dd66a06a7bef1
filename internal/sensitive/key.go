package sensitive

import (
	"regexp"
	"strings"
)

// Private keys have lines of their own (RFC 7468), or stand in one line with escaped ends.

const kindKey = "private-key"

// keyBlock knows whether the next line is one of a private key.
type keyBlock struct{ open bool }

var (
	keyBegins = regexp.MustCompile(`-----BEGIN [0-9A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----`)
	keyEnds   = regexp.MustCompile(`-----END [0-9A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----`)
	// inKey are the lines of a key: base64, headers of older formats, and what indents or quotes them.
	inKey = regexp.MustCompile("^[ \t>|+\"'`]*(?:[0-9A-Za-z+/=]{0,120}|(?:Proc-Type|DEK-Info|Version|Comment): .{0,100})[ \t\"'`,;+]*(?:\\\\[nr])*[\"'`+ ]*\r?\n?$")
)

// next takes the next line, and returns the part of it that is a key.
func (k *keyBlock) next(line string) (Finding, bool) {
	f := Finding{Class: Secret, Kind: kindKey, End: len(line)}
	if k.open {
		end := strings.Index(line, "-----END ")
		switch {
		case end >= 0:
			k.open = false
			if at := keyEnds.FindStringIndex(line); at != nil {
				f.End = at[1]
			}
			return f, true
		case len(line) < 1024 && inKey.MatchString(line):
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
	if end := keyEnds.FindStringIndex(line[at[1]:]); end != nil {
		f.End = at[1] + end[1]
		return f, true
	}
	k.open = true
	return f, true
}
