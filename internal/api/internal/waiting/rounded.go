package waiting

import (
	"encoding/json"
	"strconv"
	"strings"
)

// rounded reports whether a JSON text has a number that changes when it is read as a double, as JavaScript does: the shortest decimal
// number of that double has other digits.
func rounded(text string) bool {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil { // the end: what is no JSON is no argument of a call
			return false
		}
		n, ok := token.(json.Number)
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(n.String(), 64)
		if err != nil {
			return true // it is larger than any double
		}
		digits, exponent := decimal(n.String())
		if d, e := decimal(strconv.FormatFloat(f, 'e', -1, 64)); d != digits || d != "" && e != exponent {
			return true
		}
	}
}

// decimal returns the digits of a JSON number without zeros at either end, and the power of ten of the point before the first one; "" is 0.
// An exponent beyond an int counts as the largest or smallest one.
func decimal(number string) (digits string, exponent int) {
	number = strings.TrimPrefix(number, "-")
	if mantissa, e, ok := strings.Cut(strings.ToLower(number), "e"); ok {
		exponent, _ = strconv.Atoi(e) // out of range: the nearest int
		number = mantissa
	}
	whole, fraction, _ := strings.Cut(number, ".")
	all := whole + fraction
	digits = strings.TrimLeft(all, "0")
	exponent += len(whole) - (len(all) - len(digits))
	return strings.TrimRight(digits, "0"), exponent
}
