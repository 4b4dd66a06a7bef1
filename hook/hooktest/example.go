package hooktest

import (
	"encoding/json"
	"math"
	"regexp/syntax"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// example returns a small value that should fit the schema: required properties only,
// and the first of several choices.
func (s *schema) example() message.JSON {
	var sb strings.Builder
	s.write(&sb)
	return message.JSON(sb.String())
}

func (s *schema) write(sb *strings.Builder) {
	switch {
	case s.Const != "":
		sb.WriteString(string(s.Const))
	case len(s.Enum) > 0:
		sb.WriteString(string(s.Enum[0]))
	case len(s.Type) > 0:
		s.writeType(sb, s.Type[0])
	case len(s.AnyOf) > 0:
		s.AnyOf[0].write(sb)
	case len(s.OneOf) > 0:
		s.OneOf[0].write(sb)
	default:
		sb.WriteString("null")
	}
}

func (s *schema) writeType(sb *strings.Builder, name string) {
	switch name {
	case "object":
		s.writeObject(sb)
	case "array":
		s.writeArray(sb)
	case "string":
		sb.WriteString(quote(s.text()))
	case "integer":
		v, _ := json.Marshal(int64(s.number(1)))
		sb.Write(v)
	case "number":
		v, _ := json.Marshal(s.number(0.5))
		sb.Write(v)
	case "boolean":
		sb.WriteString("false")
	default:
		sb.WriteString("null")
	}
}

func (s *schema) writeObject(sb *strings.Builder) {
	sb.WriteByte('{')
	for i, name := range s.Required {
		if i > 0 {
			sb.WriteByte(',')
		}
		sb.WriteString(quote(name) + ":")
		p := s.Properties[name]
		p.write(sb)
	}
	sb.WriteByte('}')
}

func (s *schema) writeArray(sb *strings.Builder) {
	sb.WriteByte('[')
	for i := range s.MinItems {
		if i > 0 {
			sb.WriteByte(',')
		}
		if s.Items == nil {
			sb.WriteString("null")
			continue
		}
		s.Items.write(sb)
	}
	sb.WriteByte(']')
}

// number returns a number within the bounds; step is the distance from an
// exclusive bound.
func (s *schema) number(step float64) float64 {
	v := 1.0
	if s.Maximum != nil {
		v = math.Min(v, *s.Maximum)
	}
	if s.Below != nil {
		v = math.Min(v, *s.Below-step)
	}
	if s.Minimum != nil {
		v = math.Max(v, *s.Minimum)
	}
	if s.Above != nil {
		v = math.Max(v, *s.Above+step)
	}
	if s.MultipleOf != nil && *s.MultipleOf > 0 {
		v = math.Ceil(v / *s.MultipleOf) * *s.MultipleOf
	}
	return v
}

// formats has examples of the formats that the generator knows, and of other common ones.
var formats = map[string]string{
	"date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "time": "03:04:05Z",
	"duration": "PT1S", "email": "a@example.com", "uri": "https://example.com/", "uuid": "01234567-89ab-4cde-8f01-23456789abcd",
	"ipv4": "127.0.0.1", "ipv6": "::1", "hostname": "example.com", "byte": "eA==",
}

func (s *schema) text() string {
	if v, ok := formats[s.Format]; ok {
		return v
	}
	if s.Pattern != "" {
		if re, err := syntax.Parse(s.Pattern, syntax.Perl); err == nil {
			return matching(re)
		}
	}
	return strings.Repeat("x", max(1, s.MinLength))
}

// matching returns a short string that the expression matches. It ignores assertions.
func matching(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		return class(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "x"
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate:
		return matching(re.Sub[0])
	case syntax.OpRepeat:
		return strings.Repeat(matching(re.Sub[0]), re.Min)
	case syntax.OpConcat:
		var sb strings.Builder
		for _, sub := range re.Sub {
			sb.WriteString(matching(sub))
		}
		return sb.String()
	}
	return ""
}

// class returns a printable member of a character class, given as pairs of
// bounds, if it has one.
func class(bounds []rune) string {
	for i := 0; i+1 < len(bounds); i += 2 {
		if lo := max(bounds[i], '!'); lo <= bounds[i+1] {
			return string(lo)
		}
	}
	return string(bounds[:1])
}

func quote(s string) string {
	v, _ := json.Marshal(s)
	return string(v)
}
