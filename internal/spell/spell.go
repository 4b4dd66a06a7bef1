// Package spell finds the word that a person probably meant, for messages with "did you
// mean …?".
package spell

import "strings"

// Closest returns the candidate closest to word: one that differs only in case, else the one
// with the fewest edits, at most two and fewer than half of its letters; the first among
// equals. "" if none is that close.
func Closest(word string, candidates []string) string {
	best, least := "", 3
	for _, c := range candidates {
		if strings.EqualFold(c, word) {
			return c
		}
		if d := Distance(word, c); d < least && 2*d < len(c) {
			best, least = c, d
		}
	}
	return best
}

// longest limits the compared length of words; no name is longer.
const longest = 128

// Distance returns the number of edits from a to b: letters to insert, delete, replace or
// swap with their neighbour. It ignores case. Only the first 128 bytes of a text count.
func Distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	var before, last, row [longest + 1]int
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
