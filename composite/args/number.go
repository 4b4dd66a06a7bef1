package args

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxSafe is the greatest integer that every reader of JSON represents exactly.
const maxSafe = 1<<53 - 1

// beyondSafe is the reason for an integer outside ±maxSafe.
const beyondSafe = "must lie between -9007199254740991 and 9007199254740991"

// number reads the text of a number; what names the expected type in the error. It returns
// "" after an error.
func (d *Decoder) number(what string) string {
	if c := d.peek(); c != '-' && !isDigit(c) {
		d.want(what)
		return ""
	}
	start := d.pos
	for d.pos < len(d.text) && !strings.ContainsRune(",]}", rune(d.text[d.pos])) {
		d.pos++
	}
	n := d.text[start:d.pos]
	if v, err := strconv.ParseInt(n, 10, 64); isInteger(n) && (err != nil || v > maxSafe || v < -maxSafe) {
		d.fail(start, "", beyondSafe)
		return ""
	}
	return n
}

func isInteger(n string) bool { return !strings.ContainsAny(n, ".eE") }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (d *Decoder) integer() int64 {
	n := d.number("an integer")
	if d.err != nil {
		return 0
	}
	v, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		d.Refuse("must be an integer, written without fraction and exponent")
	}
	return v
}

// Int reads an integer that fits in bits, as strconv has it: 0 is int. It must be
// written without fraction and exponent and lie within ±(2^53-1).
func (d *Decoder) Int(bits int) int64 { return d.inInt(d.integer(), bits) }

func (d *Decoder) inInt(v int64, bits int) int64 {
	if bits == 0 {
		bits = strconv.IntSize
	}
	if most := int64(1)<<(bits-1) - 1; v > most || v < -most-1 {
		d.Refuse(fmt.Sprintf("must lie between %d and %d", -most-1, most))
		return 0
	}
	return v
}

// Uint is Int for an unsigned integer.
func (d *Decoder) Uint(bits int) uint64 {
	v := d.integer()
	if v < 0 {
		d.Refuse("must be at least 0")
		return 0
	}
	return d.inUint(uint64(v), bits)
}

func (d *Decoder) inUint(v uint64, bits int) uint64 {
	if bits == 0 {
		bits = strconv.IntSize
	}
	if most := uint64(math.MaxUint64) >> (64 - bits); v > most {
		d.Refuse(fmt.Sprintf("must lie between 0 and %d", most))
		return 0
	}
	return v
}

// Float reads a number that fits in bits, 32 or 64. An integer must lie within
// ±(2^53-1).
func (d *Decoder) Float(bits int) float64 { return d.inFloat(d.number("a number"), bits) }

func (d *Decoder) inFloat(n string, bits int) float64 {
	if d.err != nil {
		return 0
	}
	v, err := strconv.ParseFloat(n, bits)
	if err != nil {
		d.Refuse(fmt.Sprintf("must be a number of the range of float%d", bits))
		return 0
	}
	return v
}

func (d *Decoder) quoted(what string) string {
	if d.peek() != '"' {
		d.want(what)
		return ""
	}
	n := d.String()
	if !isNumber(n) {
		d.Refuse("must be " + what)
		return ""
	}
	return n
}

func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || isDigit(s[0])) && isDigit(s[len(s)-1]) && jsontext.Value(s).IsValid()
}

// QuotedInt reads an integer that is written as a string, of the full range of
// bits.
func (d *Decoder) QuotedInt(bits int) int64 {
	v, err := strconv.ParseInt(d.quoted("an integer in quotes"), 10, 64)
	if err != nil {
		d.Refuse("must be an integer in quotes, in range")
		return 0
	}
	return d.inInt(v, bits)
}

// QuotedUint reads an integer of at least 0 that is written as a string, of the
// full range of bits.
func (d *Decoder) QuotedUint(bits int) uint64 {
	v, err := strconv.ParseUint(d.quoted("an integer in quotes"), 10, 64)
	if err != nil {
		d.Refuse("must be an integer of at least 0 in quotes, in range")
		return 0
	}
	return d.inUint(v, bits)
}

// QuotedFloat reads a number that is written as a string.
func (d *Decoder) QuotedFloat(bits int) float64 {
	return d.inFloat(d.quoted("a number in quotes"), bits)
}
