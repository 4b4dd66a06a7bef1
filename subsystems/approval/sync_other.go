//go:build !unix

package approval

// syncDir does nothing where a directory cannot be opened as a file.
func syncDir(string) error { return nil }
