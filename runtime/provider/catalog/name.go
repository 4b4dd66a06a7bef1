package catalog

import (
	"strconv"
	"strings"
)

// plain returns an id in lower case without what gateways and vendors put around the name of the
// model: a path before it, "ft:" of fine-tuned models, and what follows a colon.
func plain(id string) string {
	id = strings.ToLower(id)
	id = id[strings.LastIndexByte(id, '/')+1:]
	id, _, _ = strings.Cut(strings.TrimPrefix(id, "ft:"), ":")
	return id
}

// canonical returns an id as lookups compare it: in lower case, with hyphens for the dots between
// digits, and without the "models/" of Gemini's lists.
func canonical(id string) string {
	b := []byte(strings.TrimPrefix(strings.ToLower(id), "models/"))
	for i := 1; i+1 < len(b); i++ {
		if b[i] == '.' && digit(b[i-1]) && digit(b[i+1]) {
			b[i] = '-'
		}
	}
	return string(b)
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// version is the version in an id.
type version struct {
	major, minor int
	known        bool
}

// versionOf returns the version in a name: the first number that follows a hyphen or begins the
// text, and a second one after a dot or hyphen. A number with more than two digits is a date or
// a size and ends it; so does one that a letter follows, but for the o of gpt-4o.
func versionOf(name string) version {
	for i := range len(name) {
		if !digit(name[i]) || i > 0 && name[i-1] != '-' {
			continue
		}
		major, rest, ok := number(name[i:])
		if !ok {
			continue
		}
		v := version{major: major, known: true}
		if len(rest) > 1 && (rest[0] == '.' || rest[0] == '-') {
			if minor, _, ok := number(rest[1:]); ok {
				v.minor = minor
			}
		}
		return v
	}
	return version{}
}

// number reads one or two digits that end there or before a dot, a hyphen or an o.
func number(s string) (n int, rest string, ok bool) {
	end := 0
	for end < len(s) && digit(s[end]) {
		end++
	}
	if end == 0 || end > 2 || end < len(s) && !strings.ContainsRune(".-o", rune(s[end])) {
		return 0, s, false
	}
	n, err := strconv.Atoi(s[:end])
	return n, s[end:], err == nil
}

func (v version) before(o version) bool {
	return v.major < o.major || v.major == o.major && v.minor < o.minor
}

// glob reports whether the pattern, in which * is any text, is the whole name. It takes time in
// proportion to the product of both lengths at most.
func glob(pattern, name string) bool {
	first, pattern, wild := strings.Cut(pattern, "*")
	if !wild {
		return first == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	for {
		part, rest, more := strings.Cut(pattern, "*")
		if !more {
			return strings.HasSuffix(name, part)
		}
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name, pattern = name[i+len(part):], rest
	}
}
