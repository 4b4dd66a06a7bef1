package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The units of testing.
const (
	nanoseconds = "ns/op"
	bytesPerOp  = "B/op"
	allocs      = "allocs/op"
)

// digits writes a number with three digits at most, or all of a whole one.
func digits(v float64) string {
	places := 0
	switch size := math.Abs(v); {
	case size < 0.0995:
		places = 3
	case size < 9.995:
		places = 2
	case size < 99.95:
		places = 1
	}
	text := strconv.FormatFloat(v, 'f', places, 64)
	if places > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// duration writes nanoseconds with three digits at most; "" for none.
func duration(ns float64) string {
	switch {
	case ns == 0:
		return ""
	case ns >= 999.5e6:
		return digits(ns/1e9) + " s"
	case ns >= 999.5e3:
		return digits(ns/1e6) + " ms"
	case ns >= 999.5:
		return digits(ns/1e3) + " µs"
	}
	return digits(ns) + " ns"
}

// size writes bytes in the unit that suits.
func size(bytes float64) string {
	switch {
	case bytes >= 999.5e3:
		return digits(bytes/1e6) + " MB"
	case bytes >= 9999.5:
		return digits(bytes/1e3) + " kB"
	}
	return whole(bytes) + " B"
}

// whole writes a count; thousands are told apart.
func whole(v float64) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	if v <= -0.5 {
		text = "-" + text
	}
	return text
}

// times writes a ratio.
func times(v float64) string { return digits(v) + "×" }

// spread writes a figure with what most rounds had, alone if they all had the same:
// "21 µs (20.1–22.5 µs)".
func spread(f Figure, text func(float64) string) string {
	low, high := text(f.Low), text(f.High)
	if low == high {
		return text(f.Median)
	}
	number, unit, _ := strings.Cut(low, " ")
	if _, same, _ := strings.Cut(high, " "); same == unit {
		low = strings.TrimSuffix(number, "×")
	}
	return fmt.Sprintf("%s (%s–%s)", text(f.Median), low, high)
}

// inUnit returns how figures of a unit are written, by its name.
func inUnit(unit string) func(float64) string {
	switch {
	case strings.HasPrefix(unit, "ns/") || strings.Contains(unit, "-ns/"):
		return duration
	case strings.HasPrefix(unit, "B/") || strings.Contains(unit, "-B/"):
		return size
	case strings.HasSuffix(unit, "/s"):
		return func(v float64) string { return whole(v) + "/s" }
	}
	return whole
}
