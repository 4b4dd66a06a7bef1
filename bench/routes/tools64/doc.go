// Package tools64 has 64 tools of six owners. All of it but this file is generated when a benchmark runs.
package tools64

// In a clean checkout this does not compile: run "go generate ./routes" in the directory bench, as make bench-test does.
const _ = runGoGenerateRoutesInBench
