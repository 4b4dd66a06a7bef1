// Package modelbombs has no code: its test runs turns against model servers that
// try to exhaust the memory of the program, each in a process of its own.
package modelbombs
