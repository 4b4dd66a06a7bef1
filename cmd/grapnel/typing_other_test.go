//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

// typing needs a pseudo-terminal; the scripts use it on Linux only.
func typing(ts *testscript.TestScript, _ bool, _ []string) { ts.Fatalf("typing needs Linux") }
