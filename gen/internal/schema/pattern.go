package schema

import "regexp"

// matches reports whether a pattern that is known to compile is found in the text.
func matches(pattern, text string) bool {
	re, err := regexp.Compile(pattern)
	return err == nil && re.MatchString(text)
}
