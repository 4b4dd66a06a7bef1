package main

import (
	"math"
	"strconv"
	"strings"
)

// prefixes are those of bytes.
var prefixes = []struct {
	factor float64
	name   string
}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}

// quantity writes a value with its unit: 60 GB, 4,000/s, 0.05 s.
func quantity(value float64, unit string) string {
	prefix := ""
	if strings.HasPrefix(unit, "B") {
		for _, p := range prefixes {
			if value >= p.factor {
				value, prefix = value/p.factor, p.name
				break
			}
		}
	}
	space := " "
	if unit == "" || unit == "/s" {
		space = ""
	}
	return number(value) + space + prefix + unit
}

// number writes a number with three digits that count, and commas.
func number(v float64) string {
	if v < 1000 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	s := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
