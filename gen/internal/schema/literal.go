package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/internal/argrules"
	"github.com/grapnel-go/grapnel/internal/format"
)

// constants returns the constants of a named type in source order. Unexported constants of another package are known by their value
// only.
func (b *builder) constants(v *Value) []Literal {
	n, ok := v.Type.(*types.Named)
	if !ok || n.Obj().Pkg() == nil || v.Kind == Float || v.Kind == Bool || b.src.Open != nil && b.src.Open(n.Obj()) {
		return nil
	}
	var found []*types.Const
	scope := n.Obj().Pkg().Scope()
	for _, name := range scope.Names() {
		if c, ok := scope.Lookup(name).(*types.Const); ok && types.Identical(c.Type(), n) && name != "_" {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(x, y *types.Const) int {
		p, q := b.src.Position(x.Pos()), b.src.Position(y.Pos())
		return cmp.Or(strings.Compare(p.Filename, q.Filename), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
	})
	var out []Literal
	for _, c := range found {
		lit := literalOf(c)
		if slices.ContainsFunc(out, func(o Literal) bool { return o.JSON == lit.JSON }) {
			continue
		}
		if c.Pkg() == b.pkg || c.Exported() {
			lit.Const = c
		}
		out = append(out, lit)
	}
	return out
}

func literalOf(c *types.Const) Literal {
	if c.Val().Kind() == constant.String {
		s := constant.StringVal(c.Val())
		return Literal{JSON: quote(s), Go: strconv.Quote(s)}
	}
	s := constant.ToInt(c.Val()).ExactString()
	return Literal{JSON: s, Go: s}
}

// quote writes a string as JSON. It escapes hidden characters and does not escape for HTML.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a string always encodes
	}
	out := strings.TrimSuffix(b.String(), "\n")
	return strings.Join(mapRunes(out), "")
}

func mapRunes(s string) []string {
	parts := make([]string, 0, len(s))
	for _, r := range s {
		if hidden(r) {
			parts = append(parts, fmt.Sprintf(`\u%04x`, r))
			continue
		}
		parts = append(parts, string(r))
	}
	return parts
}

func (c *constraint) count(w argrules.Word) *int {
	n, err := strconv.Atoi(w.Value)
	if err != nil || n < 0 {
		c.refuse(diag.NoCount, w.Key, w.Value)
		return nil
	}
	return &n
}

func (c *constraint) number(w argrules.Word) string {
	if msg := numberProblem(c.v, w.Value); msg != "" {
		c.refuse(diag.BadLimit, w.Key, msg, c.b.name(c.v.Type))
		return ""
	}
	return w.Value
}

// numberProblem says why the text is no value of v; "" if it is one.
func numberProblem(v *Value, text string) string {
	if v.Kind == Float {
		if !matches(argrules.NumberPattern, text) {
			return fmt.Sprintf("%q is no number", text)
		}
		if _, err := strconv.ParseFloat(text, v.Bits); err != nil {
			return fmt.Sprintf("%s is out of range", text)
		}
		return ""
	}
	if !matches(argrules.IntegerPattern, text) {
		return fmt.Sprintf("%q is no integer", text)
	}
	n, _ := new(big.Int).SetString(text, 10)
	least, most := intRange(v)
	if n.Cmp(least) < 0 || n.Cmp(most) > 0 {
		return fmt.Sprintf("%s is out of the range %s to %s", text, least, most)
	}
	return ""
}

// intRange returns the range that the decoder accepts: that of the type, for unquoted numbers at most ±(2^53-1).
func intRange(v *Value) (least, most *big.Int) {
	bits := cmp.Or(v.Bits, 64)
	one := big.NewInt(1)
	if v.Kind == Uint {
		least, most = big.NewInt(0), new(big.Int).Sub(new(big.Int).Lsh(one, uint(bits)), one)
	} else {
		half := new(big.Int).Lsh(one, uint(bits-1))
		least, most = new(big.Int).Neg(half), new(big.Int).Sub(half, one)
	}
	if safe := big.NewInt(1<<53 - 1); !v.Quoted {
		if most.Cmp(safe) > 0 {
			most = safe
		}
		if low := new(big.Int).Neg(safe); least.Cmp(low) < 0 {
			least = low
		}
	}
	return least, most
}

func (c *constraint) pattern(text string) string {
	if _, err := regexp.Compile(text); err != nil {
		c.refuse(diag.BadPattern, err)
	} else if bad := argrules.GoOnly(text); bad != "" {
		c.refuse(diag.GoOnlyPattern, bad)
	}
	return text
}

func (c *constraint) enum(w argrules.Word) {
	var out []Literal
	for _, text := range strings.Split(w.Value, "|") {
		lit, msg := parseLiteral(c.v, text)
		if msg != "" {
			c.refuse(diag.BadEnum, msg)
			return
		}
		if slices.ContainsFunc(out, func(o Literal) bool { return o.JSON == lit.JSON }) {
			c.refuse(diag.RepeatedEnum, lit.JSON)
			return
		}
		if len(c.v.Enum) > 0 {
			i := slices.IndexFunc(c.v.Enum, func(o Literal) bool { return o.JSON == lit.JSON })
			if i < 0 {
				c.refuse(diag.EnumNoConstant, lit.JSON, c.b.name(c.v.Type))
				return
			}
			lit = c.v.Enum[i]
		}
		out = append(out, lit)
	}
	c.v.Enum = out
}

// parseLiteral reads the text of a tag as a value of v's kind.
func parseLiteral(v *Value, text string) (Literal, string) {
	switch v.Kind {
	case String, OwnText:
		return Literal{JSON: quote(text), Go: strconv.Quote(text)}, ""
	case Bool:
		if text != "true" && text != "false" {
			return Literal{}, fmt.Sprintf("%q is neither true nor false", text)
		}
	case Duration:
		d, err := time.ParseDuration(text)
		if err != nil || !matches(argrules.DurationPattern, text) {
			return Literal{}, fmt.Sprintf("%q is no duration as in 1m30s", text)
		}
		return Literal{JSON: quote(text), Go: strconv.FormatInt(int64(d), 10)}, ""
	case Time:
		if !format.DateTime(text) {
			return Literal{}, fmt.Sprintf("%q is no time as in 2006-01-02T15:04:05Z", text)
		}
		return Literal{JSON: quote(text)}, ""
	default:
		if msg := numberProblem(v, text); msg != "" {
			return Literal{}, msg
		}
	}
	if v.Quoted {
		return Literal{JSON: quote(text), Go: text}, ""
	}
	return Literal{JSON: text, Go: text}, ""
}

// given sets default or example, which must satisfy all limits.
func (c *constraint) given(w argrules.Word) {
	lit, msg := parseLiteral(c.f.Value, w.Value)
	if msg == "" {
		msg = unfit(c.f.Value, lit, w.Value)
	}
	switch {
	case msg != "":
		c.refuse(diag.BadExample, w.Key, msg)
		return
	case w.Key == "default" && c.f.Value.Pointer:
		c.refuse(diag.DefaultOnPointer, w.Key)
		return
	}
	if w.Key == "example" {
		c.f.Example = &lit
		return
	}
	if i := slices.IndexFunc(c.f.Value.Enum, func(o Literal) bool { return o.JSON == lit.JSON }); i >= 0 {
		lit = c.f.Value.Enum[i]
	}
	c.f.Default, c.f.Required = &lit, false
}

// unfit says which limit the value breaks; "" if none.
func unfit(v *Value, lit Literal, text string) string {
	n := utf8.RuneCountInString(text)
	switch {
	case len(v.Enum) > 0 && !slices.ContainsFunc(v.Enum, func(o Literal) bool { return o.JSON == lit.JSON }):
		return fmt.Sprintf("%q is not in the enum %s", text, Words(v.Enum))
	case v.MinLen != nil && n < *v.MinLen, v.MaxLen != nil && n > *v.MaxLen:
		return fmt.Sprintf("%q does not have the allowed length", text)
	case v.Min != "" && less(lit.Go, v.Min), v.Max != "" && less(v.Max, lit.Go):
		return fmt.Sprintf("%s lies beyond min and max", text)
	case v.Pattern != "" && !matches(v.Pattern, text):
		return fmt.Sprintf("%q does not match the pattern", text)
	case v.Format != "" && !format.Has(text, v.Format):
		return fmt.Sprintf("%q does not have the format %s", text, v.Format)
	}
	return ""
}

// order refuses limits that exclude every value.
func (c *constraint) order() {
	l := c.v.Limits
	switch list := c.f.Value; {
	case !c.ok:
	case l.Min != "" && l.Max != "" && less(l.Max, l.Min),
		l.MinLen != nil && l.MaxLen != nil && *l.MaxLen < *l.MinLen,
		list.MinItems != nil && list.MaxItems != nil && *list.MaxItems < *list.MinItems:
		c.refuse(diag.CrossedLimits)
	default:
		c.members()
	}
}

// members refuses an enum with a value that breaks the limits.
func (c *constraint) members() {
	for _, lit := range c.v.Enum {
		if msg := unfit(c.v, lit, plainText(lit)); msg != "" {
			c.refuse(diag.BadEnum, msg)
			return
		}
	}
}

func less(a, b string) bool {
	x, y := constant.MakeFromLiteral(strings.TrimPrefix(a, "-"), token.FLOAT, 0), constant.MakeFromLiteral(strings.TrimPrefix(b, "-"), token.FLOAT, 0)
	return constant.Compare(signed(a, x), token.LSS, signed(b, y))
}

func signed(text string, v constant.Value) constant.Value {
	if strings.HasPrefix(text, "-") {
		return constant.UnaryOp(token.SUB, v, 0)
	}
	return v
}
