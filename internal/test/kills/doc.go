// Package kills has no code: its test kills a program that runs agents over a database,
// hundreds of times and mostly in the middle of a turn, and checks the database each time.
package kills
