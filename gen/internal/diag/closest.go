package diag

import "github.com/grapnel-go/grapnel/internal/spell"

// DidYouMean returns "; did you mean %s?" for the closest candidate, with quote around it on both sides, or "".
func DidYouMean(word string, candidates []string, quote string) string {
	c := spell.Closest(word, candidates)
	if c == "" {
		return ""
	}
	return "; did you mean " + quote + c + quote + "?"
}

// Closest returns the candidate that word was most likely meant to be, or "".
func Closest(word string, candidates []string) string { return spell.Closest(word, candidates) }

// MeantName is the remedy for a name that nothing declares, where another one is near.
func MeantName(name string) string { return "did you mean " + name + "?" }

// MendImport is the remedy for a package that could not be imported.
const MendImport = "mend the import, or add the module that has it:  go get …"
