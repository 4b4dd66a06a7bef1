// Package programs measures whole programs: how soon the daemon answers, and how
// much larger a program gets that has an agent inside.
package programs
