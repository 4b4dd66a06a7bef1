// Package script looks into programs in small languages that stand in a command line: sed, awk and jq. It says what
// reaches beyond their input and output. What it does not know is a problem.
package script

import (
	"regexp"
	"strings"
)

var (
	jqWords  = regexp.MustCompile(`\b(env|ENV|import|include|modulemeta|get_search_list|input_filename|halt|halt_error|repeat|range|until|while|recurse)\b|\$__`)
	awkWords = regexp.MustCompile(`\b(system|getline|ENVIRON|PROCINFO|ARGV|ARGC|close|fflush)\b|@|[^|]\|[^|]|^\||\|$|\|&`)
)

// Jq finds what reads variables or files, or may not end. "" is no problem.
func Jq(text string) string {
	if found := jqWords.FindString(text); found != "" {
		return found + " of jq reads variables or files, or may not end"
	}
	return ""
}

// Awk finds what reaches beyond awk: commands, pipes, files that it names, and redirections, which are behind the first brace.
func Awk(text string) string {
	if found := awkWords.FindString(text); found != "" {
		return strings.TrimSpace(found) + " in awk runs commands or reads more than its operands"
	}
	if _, actions, ok := strings.Cut(text, "{"); ok && strings.Contains(strings.ReplaceAll(actions, ">=", ""), ">") {
		return "> in an action of awk writes a file"
	}
	return ""
}

// sedReader reads a script of sed.
type sedReader struct {
	text string
	at   int
}

// Sed finds commands of sed that run programs or touch files, and all that it does not know.
func Sed(text string) string {
	s := sedReader{text: text}
	for {
		s.skip(" \t\n;{}")
		if s.at >= len(text) {
			return ""
		}
		if !s.addresses() || s.at >= len(text) {
			return "the script of sed cannot be read"
		}
		c := text[s.at]
		s.at++
		switch {
		case strings.IndexByte("pPdDgGhHnNxz={", c) >= 0:
		case c == 'q' || c == 'Q' || c == 'l':
			s.skip("0123456789 ")
		case c == ':' || c == 'b' || c == 't' || c == 'T':
			s.skip(" ")
			s.skip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
		case c == 's':
			if why := s.substitution(); why != "" {
				return why
			}
		case c == 'y':
			if !s.parts(2) {
				return "the script of sed cannot be read"
			}
		case c == 'a' || c == 'i' || c == 'c':
			if strings.Contains(text[s.at:], "\n") {
				return "the script of sed cannot be read"
			}
			return ""
		case c == 'e':
			return "e of sed runs a command"
		case c == 'w' || c == 'W' || c == 'r' || c == 'R':
			return string(c) + " of sed reads or writes a file"
		default:
			return "the script of sed cannot be read"
		}
	}
}

func (s *sedReader) skip(chars string) {
	for s.at < len(s.text) && strings.IndexByte(chars, s.text[s.at]) >= 0 {
		s.at++
	}
}

// addresses skips the addresses of a command.
func (s *sedReader) addresses() bool {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case strings.IndexByte("0123456789$,~+! ", c) >= 0:
			s.at++
		case c == '/':
			if !s.parts(1) {
				return false
			}
			for s.at < len(s.text) && (s.text[s.at] == 'I' || s.text[s.at] == 'M') {
				s.at++
			}
		default:
			return c != '\\'
		}
	}
	return true
}

// parts skips the delimiter and as many parts behind it. Not every sed ends a part at a delimiter in brackets, so that is no
// script that can be read.
func (s *sedReader) parts(n int) bool {
	if s.at >= len(s.text) || strings.IndexByte("/|,:#!@%_+~", s.text[s.at]) < 0 {
		return false
	}
	delimiter := s.text[s.at]
	for s.at++; n > 0; n-- {
		open := 0
		for s.at < len(s.text) && s.text[s.at] != delimiter {
			switch s.text[s.at] {
			case '\\':
				s.at++
			case '[':
				open++
			case ']':
				open--
			}
			s.at++
		}
		if s.at >= len(s.text) || open > 0 {
			return false
		}
		s.at++
	}
	return true
}

// substitution skips what stands behind s.
func (s *sedReader) substitution() string {
	if !s.parts(2) {
		return "the script of sed cannot be read"
	}
	for s.at < len(s.text) && strings.IndexByte(" \t\n;}", s.text[s.at]) < 0 {
		switch c := s.text[s.at]; {
		case strings.IndexByte("gpiIMm0123456789", c) >= 0:
			s.at++
		case c == 'e':
			return "the flag e of s in sed runs a command"
		case c == 'w':
			return "the flag w of s in sed writes a file"
		default:
			return "the script of sed cannot be read"
		}
	}
	return ""
}

// Quoted returns the texts between quotes in the code of a program, without the quotes.
func Quoted(code string) []string {
	var out []string
	for i := 0; i < len(code); i++ {
		if strings.IndexByte("'\"`", code[i]) < 0 {
			continue
		}
		n := strings.IndexByte(code[i+1:], code[i])
		if n < 0 {
			break
		}
		out = append(out, code[i+1:i+1+n])
		i += n + 1
	}
	return out
}
