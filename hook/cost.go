package hook

import "fmt"

// Cost is an amount of money in billionths of a US dollar. Prices are given per
// million tokens, so that a token costs a whole number of them: at $0.075 per
// million tokens, 75.
type Cost int64

// Dollar is one US dollar.
const Dollar Cost = 1e9

// Dollars returns the amount as a number of dollars, rounded as floats are.
func (c Cost) Dollars() float64 { return float64(c) / float64(Dollar) }

// String returns the amount with four places: "$0.0123".
func (c Cost) String() string {
	sign := ""
	if c < 0 {
		sign, c = "-", -c
	}
	c += Dollar / 20000
	return fmt.Sprintf("%s$%d.%04d", sign, c/Dollar, c%Dollar/(Dollar/10000))
}
