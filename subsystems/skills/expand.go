package skills

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// placeholder matches the placeholders in a skill's text. A backslash before one escapes
// it.
var placeholder = regexp.MustCompile(`\\?\$(?:(ARGUMENTS)\b(?:\[(\d{1,4})\])?|(\d{1,4})|\{(CLAUDE_[A-Z_]+)\}|([A-Za-z_]\w*))`)

type expansion struct {
	skill        Skill
	args         string
	conversation string

	words []string
	used  bool
}

// text returns the instructions with the placeholders replaced. It does not replace
// placeholders in values. If the text has no place for the arguments, they follow at its
// end.
func (e *expansion) text() string {
	e.words = shellWords(e.args)
	var sb strings.Builder
	body, last := e.skill.body, 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(body, -1) {
		value, ok := e.value(body, m)
		if !ok {
			continue
		}
		sb.WriteString(body[last:m[0]])
		if body[m[0]] == '\\' {
			value = body[m[0]+1 : m[1]]
		} else {
			e.used = e.used || m[8] < 0
		}
		sb.WriteString(value)
		last = m[1]
	}
	sb.WriteString(body[last:])
	if e.args != "" && !e.used {
		sb.WriteString("\n\nARGUMENTS: " + e.args)
	}
	return sb.String()
}

// value returns the value of a placeholder; false if it stays as it is.
func (e *expansion) value(body string, m []int) (string, bool) {
	group := func(i int) string {
		if m[2*i] < 0 {
			return ""
		}
		return body[m[2*i]:m[2*i+1]]
	}
	index := group(2) + group(3)
	switch {
	case index != "":
		n, err := strconv.Atoi(index)
		if err != nil || n >= len(e.words) {
			return "", false
		}
		return e.words[n], true
	case group(1) != "":
		return e.args, true
	case group(4) == "CLAUDE_SKILL_DIR":
		return e.skill.Dir, e.skill.Dir != ""
	case group(4) == "CLAUDE_SESSION_ID":
		return e.conversation, true
	}
	n := slices.Index(e.skill.Arguments, group(5))
	if n < 0 {
		return "", false
	}
	if n >= len(e.words) {
		return "", true
	}
	return e.words[n], true
}

// shellWords splits a text like a shell: at blanks, except within quotes and after a
// backslash. An unclosed quote reaches to the end.
func shellWords(text string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	open, escaped := false, false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, open = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}

func (e *expansion) content() string {
	var sb strings.Builder
	sb.WriteString(`<skill_content name="` + escape(e.skill.Name) + "\">\n")
	sb.WriteString(e.text())
	if e.skill.Dir == "" {
		sb.WriteString("\n\nSkill directory: none; the skill is built in and its files are not on disk.\n")
	} else {
		sb.WriteString("\n\nSkill directory: " + e.skill.Dir + "\n")
	}
	if len(e.skill.Resources) > 0 && e.skill.Dir != "" {
		sb.WriteString("<skill_resources>\n")
		for _, name := range e.skill.Resources {
			sb.WriteString("  <file>" + escape(name) + "</file>\n")
		}
		sb.WriteString("</skill_resources>\n")
	}
	sb.WriteString("</skill_content>")
	return sb.String()
}
