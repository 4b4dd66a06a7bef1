package access

// files returns how many files this process may open.
func files() int { return 8192 }
