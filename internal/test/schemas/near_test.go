package schemas_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// near writes JSON near the borders of a schema. It knows the schema and nothing of the Go types behind it.
type near struct {
	*rand.Rand
	// wrong is how many of a hundred values break something.
	wrong int
}

func (n *near) one(of ...string) string { return of[n.IntN(len(of))] }
func (n *near) often(percent int) bool  { return n.IntN(100) < percent }

// value writes a value of the schema, or one that is almost one.
func (n *near) value(schema map[string]any, depth int) string {
	if n.often(n.wrong) {
		return n.stranger()
	}
	if depth > 0 && n.often(2) {
		return "null" // models send it for what they leave out
	}
	if values, ok := schema["enum"].([]any); ok && !n.often(n.wrong) {
		return n.write(values[n.IntN(len(values))])
	}
	switch typ := n.typeOf(schema); typ {
	case "string":
		return n.quote(n.text(schema))
	case "integer", "number":
		return n.number(schema, typ)
	case "boolean":
		return n.one("true", "false")
	case "null":
		return "null"
	case "array":
		return n.array(schema, depth)
	case "object":
		return n.object(schema, depth)
	}
	return n.anything(depth)
}

func (n *near) typeOf(schema map[string]any) string {
	switch t := schema["type"].(type) {
	case string:
		return t
	case []any:
		return t[n.IntN(len(t))].(string)
	}
	return ""
}

// write writes a value that was read.
func (n *near) write(v any) string {
	if s, ok := v.(string); ok {
		return n.quote(s)
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// stranger writes a value that most places do not take.
func (n *near) stranger() string {
	return n.one(`null`, `true`, `0`, `-0`, `1`, `1.0`, `1e0`, `1E+2`, `0.5`, `-1`, `1e400`, `-1e-400`, `1e99999999999`, `9007199254740991`, `9007199254740992`,
		`-9007199254740992`, `12345678901234567890`, `""`, `"0"`, `"null"`, `"\ud800"`, `"\udc00\ud800"`, `"\u0000"`, "\"\xff\"", `"\ud83d\ude00"`, `[]`, `{}`, `[null]`, `{"":0}`,
		`{"a":1,"a":1}`, strings.Repeat("[", 70)+strings.Repeat("]", 70), `01`, `+1`, `.5`, `1.`, `nul`, `"`, ``)
}

func (n *near) anything(depth int) string {
	if depth > 4 {
		return n.stranger()
	}
	switch n.IntN(5) {
	case 0:
		return n.array(map[string]any{}, depth)
	case 1:
		return n.object(map[string]any{"additionalProperties": map[string]any{}}, depth)
	}
	return n.stranger()
}

func number(v any, otherwise float64) float64 {
	if f, ok := v.(float64); ok {
		return f
	}
	return otherwise
}

func (n *near) number(schema map[string]any, typ string) string {
	least, most := number(schema["minimum"], -1e6), number(schema["maximum"], 1e6)
	step := 1.0
	if typ == "number" {
		step = 0.25
	}
	v := least
	switch n.IntN(6) {
	case 0:
		v = most
	case 1:
		v = most + step
	case 2:
		v = least - step
	case 3, 4:
		v = float64(int64(least + (most-least)*n.Float64()))
	}
	if n.often(85) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return n.one(strconv.FormatFloat(v, 'e', -1, 64), strconv.FormatFloat(v, 'f', -1, 64)+".0", "-1e39", n.stranger())
}

// text returns a string of the schema, or almost one.
func (n *near) text(schema map[string]any) string {
	if format, ok := schema["format"].(string); ok {
		return n.format(format)
	}
	if schema["contentEncoding"] == "base64" {
		return n.one("", "aGk=", "aGkh", "aGl=", "aGk", "aG k", "aGk=\n", "aGk-", "/+AA", "====", "a===", "aGkhaGkh", "AAB=", "AA==", "AB==")
	}
	if pattern, ok := schema["pattern"].(string); ok && !n.often(n.wrong) {
		re, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			panic(err)
		}
		s := n.matching(re)
		if n.often(10) {
			s += n.one("s", " ", "0", "é", "-1", "99999999999999999999h", "\n")
		}
		return s
	}
	least, most := int(number(schema["minLength"], 0)), int(number(schema["maxLength"], 6))
	size := n.one("least", "most", "between", "between", "less", "more")
	count := map[string]int{"least": least, "most": most, "between": least + n.IntN(max(1, most-least+1)), "less": max(0, least-1), "more": most + 1}[size]
	var b strings.Builder
	for range count {
		b.WriteString(n.one("a", "Z", "0", " ", "é", "語", "😀", "\u2028", `"`, `\`, "/", "\t", "\u0301"))
	}
	return b.String()
}

func (n *near) format(name string) string {
	return map[string]func() string{
		"date-time": func() string {
			return n.format("date") + n.one("T", "T", "T", "t", " ") + n.format("time")
		},
		"date": func() string {
			return n.one("2026", "2024", "0000", "9999", "20266") + "-" + n.one("01", "02", "12", "13", "00", "1") + "-" + n.one("01", "28", "29", "30", "31", "32", "00")
		},
		"time": func() string {
			return n.one("00", "23", "24", "3") + ":" + n.one("00", "59", "60") + ":" + n.one("00", "59", "59", "60", "61") + n.one("", "", ".5", ".123456789012", ",5", ".") +
				n.one("Z", "Z", "z", "", "+00:00", "-23:59", "+24:00", "+1:00", "+01:60", "+0100")
		},
		"email": func() string {
			return n.one("a", "a.b", "a..b", ".a", "a+b", `"a b"`, `"a"`, "é", "", "a b", strings.Repeat("l", 65)) + n.one("@", "@", "@", "", "@@") + n.one(n.format("hostname"), "[127.0.0.1]", "[IPv6:::1]", "")
		},
		"hostname": func() string {
			return n.one("a", "a.example", "1.2", "a-b", "-a", "a-", "a..b", "a.", "a_b", "é", "", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a.", 126)+"a", strings.Repeat("a.", 127)+"a")
		},
		"ipv4": func() string {
			return n.one("0", "255", "256", "01", "+1", "", "1") + "." + n.one("0", "10") + "." + n.one("0", "9 ", "9") + n.one(".1", "", ".1.1", ".a", ".255")
		},
		"ipv6": func() string {
			return n.one("::", "::1", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7", "2001:db8::1", "::ffff:1.2.3.4", "fe80::1%eth0", "::%", ":::", "1::2::3", "12345::", "g::", "127.0.0.1", "::1.2.3", "")
		},
		"uri": func() string {
			return n.one("https", "mailto", "a+b", "1a", "", "é", "urn") + n.one(":", ":", ":", "") + n.one("//", "", "//u:p@") + n.one("a.example", "[::1]", "[::1", "[g]", "", "a b", "a:99", "a:b") +
				n.one("", "/", "/p?q=1#f", "/%20", "/%zz", "/é", "/ ", `/"`, "/<", "##")
		},
		"uuid": func() string {
			return n.one("123e4567", "123E4567", "123e456", "g23e4567") + n.one("-", "-", "-", "") + "e89b-12d3-a456-426614174000" + n.one("", "", "", "0")
		},
	}[name]()
}

// matching returns a string that matches, apart from what stands around it.
func (n *near) matching(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		i := 2 * n.IntN(len(re.Rune)/2)
		return string(re.Rune[i] + rune(n.IntN(int(re.Rune[i+1]-re.Rune[i])+1)))
	case syntax.OpCapture, syntax.OpConcat:
		var b strings.Builder
		for _, sub := range re.Sub {
			b.WriteString(n.matching(sub))
		}
		return b.String()
	case syntax.OpAlternate:
		return n.matching(re.Sub[n.IntN(len(re.Sub))])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		least, most := map[syntax.Op]int{syntax.OpPlus: 1, syntax.OpRepeat: re.Min}[re.Op], map[syntax.Op]int{syntax.OpQuest: 1, syntax.OpRepeat: re.Max}[re.Op]
		return strings.Repeat(n.matching(re.Sub[0]), least+n.IntN(max(cmp.Or(most, n.more())-least, 0)+1))
	}
	return ""
}

// more is how often something is repeated that has no limit.
func (n *near) more() int {
	if n.often(10) {
		return 24
	}
	return 3
}

// quote writes a string, sometimes with escapes that it does not need.
func (n *near) quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	switch {
	case n.wrong > 0 && n.IntN(300) == 0:
		return n.one(`"\ud800`, `"\uDFFF`, `"\u0000`, "\"\xff", "\"\n", `"\x`) + string(text[1:])
	case !n.often(20):
		return string(text)
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		case r == '/':
			b.WriteString(`\/`)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return `"` + b.String() + `"`
}

func (n *near) array(schema map[string]any, depth int) string {
	items, ok := schema["items"].(map[string]any)
	if !ok {
		items = map[string]any{}
	}
	least, most := int(number(schema["minItems"], 0)), int(number(schema["maxItems"], 3))
	count := least + n.IntN(most-least+1)
	if n.often(2 * n.wrong) {
		count = most + 1
	}
	parts := make([]string, count)
	for i := range parts {
		parts[i] = n.value(items, depth+1)
	}
	return "[" + strings.Join(parts, n.comma()) + n.end("]")
}

func (n *near) object(schema map[string]any, depth int) string {
	var parts []string
	add := func(name, value string) { parts = append(parts, n.quote(name)+n.colon()+value) }
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if needed := slices.Contains(required, any(name)); needed && !n.often(n.wrong) || !needed && n.often(30) {
			add(name, n.value(properties[name].(map[string]any), depth+1))
			if n.often(n.wrong) {
				add(n.one(name, strings.ToUpper(name), name+"x"), n.value(properties[name].(map[string]any), depth+1))
			}
		}
	}
	if values, ok := schema["additionalProperties"].(map[string]any); ok {
		for range n.IntN(4) {
			add(n.one("a", "b", "c", "", "é", "a b", "A"), n.value(values, depth+1))
		}
	}
	n.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return "{" + strings.Join(parts, n.comma()) + n.end("}")
}

func (n *near) comma() string {
	if n.often(n.wrong) {
		return n.one(" , ", ",,", "", ";")
	}
	return ","
}

func (n *near) colon() string {
	if n.often(n.wrong) {
		return n.one(" : ", "", "=", "::")
	}
	return ":"
}

// end writes the closing bracket, seldom with something before it.
func (n *near) end(bracket string) string {
	if n.wrong > 0 && n.IntN(200) == 0 {
		return n.one(",", " ", "\n") + bracket
	}
	return bracket
}
