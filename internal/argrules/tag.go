package argrules

import (
	"fmt"
	"strings"
)

// Word is one word of a hook tag on a field: key, or key=value.
type Word struct {
	Key, Value string
	HasValue   bool
}

// Split reads "required,maxlen=80,pattern='^[a-z]{1,3}$'": words between commas; a value in single quotes may have commas, and a
// quote in it is written twice.
func Split(tag string) ([]Word, error) {
	var out []Word
	for rest := tag; rest != ""; {
		end := strings.IndexAny(rest, "=,")
		if end < 0 {
			end = len(rest)
		}
		w := Word{Key: strings.TrimSpace(rest[:end])}
		rest = rest[end:]
		if strings.HasPrefix(rest, "=") {
			var err error
			if w.Value, rest, err = cutValue(rest[1:]); err != nil {
				return nil, fmt.Errorf("%s=: %w", w.Key, err)
			}
			w.HasValue = true
		}
		out = append(out, w)
		if rest == "," {
			return nil, fmt.Errorf("the tag ends with a comma")
		}
		rest = strings.TrimPrefix(rest, ",")
	}
	return out, nil
}

func cutValue(s string) (value, rest string, err error) {
	if !strings.HasPrefix(s, "'") {
		end := strings.IndexByte(s, ',')
		if end < 0 {
			end = len(s)
		}
		return s[:end], s[end:], nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != '\'':
			b.WriteByte(s[i])
		case i+1 < len(s) && s[i+1] == '\'':
			b.WriteByte('\'')
			i++
		case i+1 == len(s) || s[i+1] == ',':
			return b.String(), s[i+1:], nil
		default:
			return "", "", fmt.Errorf("after the closing quote a comma must follow")
		}
	}
	return "", "", fmt.Errorf("the closing quote is missing")
}
