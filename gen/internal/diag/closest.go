package diag

import "github.com/grapnel-go/grapnel/internal/spell"

// DidYouMean returns "; did you mean X?" with the closest candidate between quotes, or "".
func DidYouMean(word string, candidates []string, quote string) string {
	c := spell.Closest(word, candidates)
	if c == "" {
		return ""
	}
	return "; did you mean " + quote + c + quote + "?"
}

// Closest returns the candidate that word was probably meant to be, or "".
func Closest(word string, candidates []string) string { return spell.Closest(word, candidates) }

// MeantName is the remedy for an undeclared name that is close to a declared one.
func MeantName(name string) string { return "did you mean " + name + "?" }

// MendImport is the remedy for a package that could not be imported.
const MendImport = "fix the import, or add the module that has it:  go mod tidy"
