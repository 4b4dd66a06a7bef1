package schema

import "regexp"

// matches reports whether a valid pattern matches a part of the text.
func matches(pattern, text string) bool {
	re, err := regexp.Compile(pattern)
	return err == nil && re.MatchString(text)
}
