package sensitive

import (
	"math"
	"regexp"
	"strings"
)

const (
	kindURL      = "password-in-url"
	kindHeader   = "authorization"
	kindAssigned = "assigned-secret"
)

var (
	inURL    = regexp.MustCompile(`^://[^\s:/@"'<>]{0,100}:([^\s/@"'<>{}$]{3,200})@[0-9A-Za-z\[]`)
	inHeader = regexp.MustCompile(`(?i)^(?:proxy-)?authorization["']?\s{0,4}[:=,]\s{0,4}["']?(?:(?:bearer|basic|token|digest|apikey)\s{1,4})?([0-9A-Za-z+/=._~-]{12,})`)
)

// credentials appends passwords in URLs and the credentials of headers.
func (d *Detector) credentials(out []Finding, s string) []Finding {
	if d.wants(kindURL) {
		for at := 0; ; {
			i := strings.Index(s[at:], "://")
			if i < 0 {
				break
			}
			at += i
			if m := inURL.FindStringSubmatchIndex(s[at:min(at+400, len(s))]); m != nil && !placeholder(s[at+m[2]:at+m[3]]) {
				out = append(out, Finding{at + m[2], at + m[3], Secret, kindURL})
			}
			at += 3
		}
	}
	if !d.wants(kindHeader) {
		return out
	}
	for at := 0; ; {
		i := strings.Index(s[at:], "uthorization")
		if i < 0 {
			return out
		}
		at += i
		if from := at - 1; from >= 0 && (s[from] == 'A' || s[from] == 'a') {
			if m := inHeader.FindStringSubmatchIndex(s[from:min(from+2100, len(s))]); m != nil && mixed(s[from+m[2]:from+m[3]]) {
				out = append(out, Finding{from + m[2], from + m[3], Secret, kindHeader})
			}
		}
		at += len("uthorization")
	}
}

// secretNames are parts of the names of what is to be kept secret, in small letters without - and _.
var secretNames = []string{"password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "privatekey", "credential", "authkey", "signingkey", "encryptionkey", "accountkey", "clientkey", "pwd"}

// notSecret are ends of names that speak of a secret and are none.
var notSecret = []string{"id", "name", "type", "url", "uri", "path", "file", "count", "length", "size", "kind", "hash", "limit", "tokens", "expiry", "expires", "ttl", "usage", "env", "field", "header", "error"}

// assigned appends values that look random behind the name of a secret: name = value, "name": "value", name: value.
func (d *Detector) assigned(out []Finding, s string) []Finding {
	if !d.wants(kindAssigned) {
		return out
	}
	for i := 1; i < len(s); i++ {
		if c := s[i]; c != '=' && c != ':' {
			continue
		}
		name, quoted := nameBefore(s, i)
		if !secretName(name) {
			continue
		}
		start, end, inQuotes := valueAfter(s, i, quoted)
		if end > start && secretValue(name, s[start:end], inQuotes) {
			out = append(out, Finding{start, end, Secret, kindAssigned})
			i = end - 1
		}
	}
	return out
}

// maxGap is how many blanks there may be between a name and its value.
const maxGap = 32

// nameBefore returns the name that ends before the sign at i, and whether it stands in quotes.
func nameBefore(s string, i int) (name string, quoted bool) {
	end := i
	for end > 0 && i-end < maxGap && (s[end-1] == ' ' || s[end-1] == '\t' || s[end-1] == ':') {
		end--
	}
	if end > 0 && (s[end-1] == '"' || s[end-1] == '\'') {
		end--
		if end > 0 && s[end-1] == '\\' { // JSON in a string of JSON
			end--
		}
		quoted = true
	}
	start := end
	for start > 0 && end-start < 64 && (isWord[s[start-1]] || s[start-1] == '_' || s[start-1] == '-' || s[start-1] == '.') {
		start--
	}
	return s[start:end], quoted
}

var plain = strings.NewReplacer("_", "", "-", "", ".", "")

func secretName(name string) bool {
	if len(name) < 3 {
		return false
	}
	name = plain.Replace(strings.ToLower(name))
	for _, end := range notSecret {
		if strings.HasSuffix(name, end) {
			return false
		}
	}
	for _, part := range secretNames {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// valueAfter returns where the value behind the sign at i begins and ends.
func valueAfter(s string, i int, quoted bool) (start, end int, inQuotes bool) {
	for i++; i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '=' || s[i] == '>'); i++ {
	}
	if i < len(s) && s[i] == '\\' && quoted {
		i++
	}
	if i < len(s) && (s[i] == '"' || s[i] == '\'' || s[i] == '`') {
		end = i + 1
		for end < len(s) && s[end] != s[i] && s[end] != '\\' && s[end] != '\n' && end-i < 512 {
			end++
		}
		if end == len(s) || s[end] == '\n' {
			return 0, 0, false
		}
		return i + 1, end, true
	}
	for end = i; end < len(s) && end-i < 512 && s[end] > ' ' && s[end] < 0x7f && !strings.ContainsRune("\"'`,;()[]{}<>&|\\", rune(s[end])); end++ {
	}
	return i, end, false
}

// secretValue reports whether the value of such a name looks like a secret and not like a word, a call or a
// place where one belongs.
func secretValue(name, value string, inQuotes bool) bool {
	if placeholder(value) || strings.ContainsAny(value, " \t") {
		return false
	}
	low := strings.ToLower(name)
	word := strings.Contains(low, "pass") || strings.Contains(low, "pwd")
	switch n := len(value); {
	case n < 8:
		return false
	case inQuotes && word && n < 16:
		return mixed(value) && entropy(value) >= 2.5
	case n < 16:
		return false
	}
	least := 2 // a word with a number in it has two changes
	if !inQuotes {
		least = 4 // also the name of a function, such as testRSA2048Key2
	}
	if changes(value) < least || strings.Contains(value, "://") || strings.HasPrefix(value, "/") {
		return false
	}
	return entropy(value) >= 3.3 || hexadecimal(value) && len(value) >= 32 && entropy(value) >= 3
}

// changes counts how often a digit follows a letter or the other way round.
func changes(s string) (n int) {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	for i := 1; i < len(s); i++ {
		if isWord[s[i]] && isWord[s[i-1]] && digit(s[i]) != digit(s[i-1]) {
			n++
		}
	}
	return n
}

func hexadecimal(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// mixed reports whether the text has letters and digits.
func mixed(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
}

// placeholder reports whether the text stands for a secret that is elsewhere.
func placeholder(s string) bool {
	low := strings.ToLower(s)
	for _, part := range []string{"example", "changeme", "your", "xxxx", "****", "....", "${", "{{", "<", "%s", "%v", "placeholder", "redacted", "dummy", "insert", "12345678", "abcdef", "password", "***"} {
		if strings.Contains(low, part) {
			return true
		}
	}
	return strings.HasPrefix(s, "$") || strings.HasPrefix(s, "[")
}

// entropy is that of the bytes of the text, in bits for each.
func entropy(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	sum := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
