// Package tools8 has 8 tools of six owners. All of it but this file is generated when a benchmark runs.
package tools8

// In a clean checkout this does not compile: run "go generate ./routes" in the directory bench, as make bench-test does.
const _ = runGoGenerateRoutesInBench
