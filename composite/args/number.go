package args

import (
	"fmt"
	"math"
	"strconv"
)

// maxSafe is the greatest integer that every reader of JSON keeps as it is.
const maxSafe = 1<<53 - 1

// beyondSafe is the reason for an integer outside ±maxSafe.
const beyondSafe = "must lie between -9007199254740991 and 9007199254740991"

// number is one number of the text.
type number struct {
	text    string
	neg     bool
	integer bool   // written without fraction and exponent
	mant    uint64 // of an integer of at most 18 digits
	digits  int    // before the fraction
}

// safe reports whether it is an integer that every reader keeps.
func (n number) safe() bool { return n.digits <= 16 && n.mant <= maxSafe }

// readNumber reads the number that s has at i and returns it with the index
// behind it; false if there is none.
func readNumber(s string, i int) (number, int, bool) {
	start := i
	n := number{integer: true}
	if i < len(s) && s[i] == '-' {
		n.neg = true
		i++
	}
	first := i
	for ; i < len(s) && isDigit(s[i]); i++ {
		if n.digits++; n.digits <= 18 {
			n.mant = n.mant*10 + uint64(s[i]-'0')
		}
	}
	if n.digits == 0 || n.digits > 1 && s[first] == '0' {
		return n, start, false
	}
	ok := true
	if i < len(s) && s[i] == '.' {
		n.integer = false
		i, ok = digits(s, i+1)
	}
	if ok && i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		n.integer = false
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		i, ok = digits(s, i)
	}
	n.text = s[start:i]
	return n, i, ok
}

// digits skips one digit or more.
func digits(s string, i int) (int, bool) {
	start := i
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i, i > start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// number reads a number; what is named in the error if there is none.
func (d *Decoder) number(what string) (number, bool) {
	if c := d.next(); c != '-' && !isDigit(c) {
		d.want(what)
		return number{}, false
	}
	n, end, ok := readNumber(d.text, d.pos)
	if !ok {
		d.fail(d.pos, "", "must be valid JSON: it is no number as JSON writes them")
		return n, false
	}
	if n.integer && !n.safe() {
		d.fail(d.pos, "", beyondSafe)
		return n, false
	}
	d.pos = end
	return n, true
}

// Int reads an integer that fits in bits, as strconv has it: 0 is int. It must be
// written without fraction and exponent and lie within ±(2^53-1).
func (d *Decoder) Int(bits int) int64 {
	if v, end := shortInt(d.text, d.pos); end > 0 {
		d.pos = end
		return d.inInt(v, bits)
	}
	n, ok := d.number("an integer")
	if !ok {
		return 0
	}
	if !n.integer {
		d.Refuse("must be an integer, written without fraction and exponent")
		return 0
	}
	v := int64(n.mant)
	if n.neg {
		v = -v
	}
	return d.inInt(v, bits)
}

// shortInt reads what most integers are: at most 15 digits and then a comma or a
// bracket. The index behind them is 0 for everything else.
func shortInt(s string, i int) (int64, int) {
	first := i
	if i < len(s) && s[i] == '-' {
		first++
	}
	var v int64
	for i = first; i < len(s); i++ {
		c := s[i]
		if c-'0' > 9 {
			break
		}
		v = v*10 + int64(c-'0')
	}
	n := i - first
	if n == 0 || n > 15 || n > 1 && s[first] == '0' || i == len(s) || s[i] != ',' && s[i] != '}' && s[i] != ']' {
		return 0, 0
	}
	if first > 0 && s[first-1] == '-' {
		v = -v
	}
	return v, i
}

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

// Uint reads an integer of at least 0 that fits in bits; else it is like Int.
func (d *Decoder) Uint(bits int) uint64 {
	n, ok := d.number("an integer")
	if !ok {
		return 0
	}
	if !n.integer {
		d.Refuse("must be an integer, written without fraction and exponent")
		return 0
	}
	if n.neg && n.mant != 0 {
		d.Refuse("must be at least 0")
		return 0
	}
	return d.inUint(n.mant, bits)
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
func (d *Decoder) Float(bits int) float64 {
	n, ok := d.number("a number")
	if !ok {
		return 0
	}
	return d.inFloat(n, bits)
}

func (d *Decoder) inFloat(n number, bits int) float64 {
	if n.integer && n.digits <= 15 {
		v := float64(n.mant)
		if n.neg {
			v = -v
		}
		if bits == 64 {
			return v
		}
	}
	v, err := strconv.ParseFloat(n.text, bits)
	if err != nil {
		d.Refuse(fmt.Sprintf("must be a number of the range of float%d", bits))
		return 0
	}
	return v
}

// quoted reads a string that holds nothing but a number.
func (d *Decoder) quoted(what string) (number, bool) {
	if d.next() != '"' {
		d.want(what)
		return number{}, false
	}
	s := d.scan(true)
	n, end, ok := readNumber(s, 0)
	if d.err != nil || !ok || end < len(s) {
		d.Refuse("must be " + what)
		return n, false
	}
	return n, true
}

// QuotedInt reads an integer that is written as a string, of the full range of
// bits.
func (d *Decoder) QuotedInt(bits int) int64 {
	n, ok := d.quoted("an integer in quotes")
	if !ok {
		return 0
	}
	v, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil {
		d.Refuse("must be an integer in quotes, in range")
		return 0
	}
	return d.inInt(v, bits)
}

// QuotedUint reads an integer of at least 0 that is written as a string, of the
// full range of bits.
func (d *Decoder) QuotedUint(bits int) uint64 {
	n, ok := d.quoted("an integer in quotes")
	if !ok {
		return 0
	}
	v, err := strconv.ParseUint(n.text, 10, 64)
	if err != nil {
		d.Refuse("must be an integer of at least 0 in quotes, in range")
		return 0
	}
	return d.inUint(v, bits)
}

// QuotedFloat reads a number that is written as a string.
func (d *Decoder) QuotedFloat(bits int) float64 {
	n, ok := d.quoted("a number in quotes")
	if !ok {
		return 0
	}
	return d.inFloat(n, bits)
}
