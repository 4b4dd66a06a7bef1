package diag

// Explain returns the page of a code.
func Explain(code string) (string, bool) { return "", false }
