// Package estimate estimates tokens where nobody has counted them: what a server did not
// report, what a history takes, and what a file adds to a prompt.
package estimate

// bytesPerToken is the usual estimate for English text and code.
const bytesPerToken = 4

// Tokens returns the estimated tokens of a text with this many bytes, rounded up.
func Tokens[N int | int64](bytes N) int64 {
	return (int64(bytes) + bytesPerToken - 1) / bytesPerToken
}
