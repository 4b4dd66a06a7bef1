package reply

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"strconv"

	"github.com/grapnel-go/grapnel/internal/quote"
)

// Null writes null.
func (e *Encoder) Null() { e.text = append(e.text, `null`...) }

// String writes a string. Bytes that are no UTF-8 become U+FFFD.
func (e *Encoder) String(s string) { e.text = quote.Append(e.text, s) }

// Bool writes true or false.
func (e *Encoder) Bool(v bool) { e.text = strconv.AppendBool(e.text, v) }

// Int writes an integer.
func (e *Encoder) Int(v int64) { e.text = strconv.AppendInt(e.text, v, 10) }

// Uint writes an integer without a sign.
func (e *Encoder) Uint(v uint64) { e.text = strconv.AppendUint(e.text, v, 10) }

// Float writes a number of 32 or 64 bits in as few digits as tell it from all others.
// What is no number is an error.
func (e *Encoder) Float(v float64, bits int) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		e.fail(&json.UnsupportedValueError{Value: reflect.ValueOf(v), Str: strconv.FormatFloat(v, 'g', -1, bits)})
		return
	}
	if !exponential(v, bits) {
		e.text = strconv.AppendFloat(e.text, v, 'f', -1, bits)
		return
	}
	b := strconv.AppendFloat(e.text, v, 'e', -1, bits)
	if n := len(b); b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' { // e-09 is written e-9
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	e.text = b
}

// exponential reports whether a number is written with an exponent: those that
// JavaScript writes so.
func exponential(v float64, bits int) bool {
	abs := math.Abs(v)
	if bits == 32 {
		return abs != 0 && (float32(abs) < 1e-6 || float32(abs) >= 1e21)
	}
	return abs != 0 && (abs < 1e-6 || abs >= 1e21)
}

// QuotedBool writes true or false as a string.
func (e *Encoder) QuotedBool(v bool) { e.quote(); e.Bool(v); e.quote() }

// QuotedInt writes an integer as a string.
func (e *Encoder) QuotedInt(v int64) { e.quote(); e.Int(v); e.quote() }

// QuotedUint writes an integer without a sign as a string.
func (e *Encoder) QuotedUint(v uint64) { e.quote(); e.Uint(v); e.quote() }

// QuotedFloat writes a number of 32 or 64 bits as a string.
func (e *Encoder) QuotedFloat(v float64, bits int) { e.quote(); e.Float(v, bits); e.quote() }

func (e *Encoder) quote() { e.text = append(e.text, '"') }

// Bytes writes bytes as a string of base64, nil as null.
func (e *Encoder) Bytes(b []byte) {
	if b == nil {
		e.Null()
		return
	}
	e.quote()
	e.text = base64.StdEncoding.AppendEncode(e.text, b)
	e.quote()
}

// Marshal writes what a type writes of itself, without blanks. It is not asked after
// an error. What it writes must be JSON.
func (e *Encoder) Marshal(v json.Marshaler) {
	if e.err != nil {
		return
	}
	text, err := v.MarshalJSON()
	if err == nil {
		buf := bytes.NewBuffer(e.text)
		err = json.Compact(buf, text)
		e.text = buf.Bytes()
	}
	if err != nil {
		e.fail(&json.MarshalerError{Type: reflect.TypeOf(v), Err: err})
	}
}
