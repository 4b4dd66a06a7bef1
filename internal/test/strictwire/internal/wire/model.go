package wire

import "strings"

// Version returns the version in a model's name behind a prefix: 4, 7 for
// "claude-opus-4-7-20260101", 5, 6 for "gpt-5.6-terra". It is 0, 0 if the name does not
// begin with the prefix or has no version.
func Version(model, prefix string) (major, minor int) {
	rest, ok := strings.CutPrefix(model, prefix)
	if !ok {
		return 0, 0
	}
	for rest != "" {
		n, digits := number(rest)
		if digits == 0 {
			rest = rest[1:]
			continue
		}
		major, rest = n, rest[digits:]
		if rest != "" && (rest[0] == '.' || rest[0] == '-') {
			if n, digits := number(rest[1:]); digits > 0 && digits <= 2 {
				minor = n
			}
		}
		return major, minor
	}
	return 0, 0
}

func number(s string) (n, digits int) {
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' && digits < 9 {
		n = n*10 + int(s[digits]-'0')
		digits++
	}
	return n, digits
}

// From reports whether a version is at least major.minor.
func From(gotMajor, gotMinor, major, minor int) bool {
	return gotMajor > major || gotMajor == major && gotMinor >= minor
}
