package diag

// Closest returns the candidate that word was most likely meant to be: edit distance at most 2 and less than half the word, the
// first among equals; "" if none is that close.
func Closest(word string, candidates []string) string {
	best, bestAt := "", min(2, (len(word)-1)/2)+1
	for _, c := range candidates {
		if d := Distance(word, c); d < bestAt {
			best, bestAt = c, d
		}
	}
	return best
}

// Distance is the number of letters to insert, delete, replace or swap with their neighbour to get from a to b.
func Distance(a, b string) int {
	before, last, row := []int(nil), make([]int, len(b)+1), []int(nil)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row = make([]int, len(b)+1)
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

// DidYouMean returns "; did you mean %s?" for the closest candidate, with quote around it on both sides, or "".
func DidYouMean(word string, candidates []string, quote string) string {
	c := Closest(word, candidates)
	if c == "" {
		return ""
	}
	return "; did you mean " + quote + c + quote + "?"
}
