// Package wire has what the strict servers of all vendors share: JSON as it was sent, rules
// and what breaks them, signatures, events, and the memory of what was answered.
package wire
