package guard

import "strings"

// setting is a line of a configuration of git, with its key in lower case: "core.hookspath".
type setting struct{ key, value string }

// settings reads the text of a configuration as git does (git-config, "Syntax"): comments end with their line, and a backslash at the
// end joins lines in values alone. What is not understood has the key "?".
func settings(text string) (out []setting) {
	section := ""
	rest := strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
	for rest != "" {
		rest = strings.TrimLeft(rest, " \t\n\v\f\r")
		switch {
		case rest == "":
		case rest[0] == '#' || rest[0] == ';':
			_, rest, _ = strings.Cut(rest, "\n")
		case rest[0] == '[':
			var ok bool
			if section, rest, ok = head(rest[1:]); !ok {
				out = append(out, setting{"?", ""})
			}
		default:
			var kv setting
			kv, rest = line(section, rest)
			out = append(out, kv)
		}
	}
	return out
}

// head reads the rest of the head of a section, such as `remote "origin"]`, and returns its name without what is quoted.
func head(text string) (section, rest string, ok bool) {
	quoted := false
	for i := 0; i < len(text) && text[i] != '\n'; i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ']' && !quoted:
			name, _, _ := strings.Cut(text[:i], `"`)
			return strings.ToLower(strings.TrimSpace(name)), text[i+1:], true
		}
	}
	_, rest, _ = strings.Cut(text, "\n")
	return "?", rest, false
}

// line reads a key with its value, which may go on in the next lines.
func line(section, text string) (kv setting, rest string) {
	end := strings.IndexFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-')
	})
	if end < 0 {
		end = len(text)
	}
	key := section + "." + strings.ToLower(text[:end])
	text = strings.TrimLeft(text[end:], " \t")
	switch {
	case end == 0:
		_, rest, _ = strings.Cut(text, "\n")
		return setting{"?", ""}, rest
	case text == "" || text[0] == '\n':
		return setting{key, ""}, text
	case text[0] != '=': // git reads no comment here
		_, rest, _ = strings.Cut(text, "\n")
		return setting{"?", ""}, rest
	}
	value, rest, ok := valueOf(strings.TrimLeft(text[1:], " \t"))
	if !ok {
		return setting{"?", value}, rest
	}
	return setting{key, value}, rest
}

// valueOf reads a value to its end.
func valueOf(text string) (value, rest string, ok bool) {
	var out strings.Builder
	quoted, kept := false, 0 // blanks at the end count only in quotes
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\n':
			return out.String()[:kept], text[i+1:], !quoted
		case (c == '#' || c == ';') && !quoted:
			_, rest, _ = strings.Cut(text[i:], "\n")
			return out.String()[:kept], rest, true
		case c == '"':
			quoted = !quoted
			kept = out.Len()
			continue
		case c == '\\':
			if i++; i == len(text) || !strings.ContainsRune("\ntbn\"\\", rune(text[i])) {
				_, rest, _ = strings.Cut(text[min(i, len(text)):], "\n")
				return out.String(), rest, false
			}
			if text[i] == '\n' {
				continue
			}
			c = map[byte]byte{'t': '\t', 'b': '\b', 'n': '\n'}[text[i]]
			if c == 0 {
				c = text[i]
			}
		}
		out.WriteByte(c)
		if quoted || c != ' ' && c != '\t' {
			kept = out.Len()
		}
	}
	return out.String()[:kept], "", !quoted
}
