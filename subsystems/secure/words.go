package secure

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/grapnel-go/grapnel/hook/message"
)

// said is what people have said in a conversation, one part for each message, with the hosts that are as good as said. It never changes.
type said struct {
	parts []spoken
	hosts []string
}

// spoken is one text of a person.
type spoken struct {
	// text has small letters, and normal no blanks and signs; words are its words, and stems beginnings of them.
	text, normal string
	words, stems map[string]bool
}

// maxParts bounds how many of the last texts count.
const maxParts = 5000

// shortStem and longStem are the lengths of the shortest and the longest beginning by which words are one. A longer word is none.
const shortStem, longStem = 4, 64

// with is what was said with a further text.
func (s said) with(text string) said {
	p := spoken{text: strings.ToLower(text), words: map[string]bool{}, stems: map[string]bool{}}
	p.normal = normal(p.text)
	for _, w := range wordsOf(p.text) {
		p.words[w] = true
		for n := shortStem; n <= min(len(w), longStem); n++ {
			p.stems[w[:n]] = true
		}
	}
	s.parts = append(s.parts, p)
	s.parts = s.parts[max(0, len(s.parts)-maxParts):]
	return s
}

// any reports whether it holds for one of the texts.
func (s said) any(holds func(spoken) bool) bool { return slices.ContainsFunc(s.parts, holds) }

// text is all of it.
func (s said) text() string {
	var sb strings.Builder
	for _, p := range s.parts {
		sb.WriteString(p.text + "\n")
	}
	return sb.String()
}

// word reports whether the user has said the word as it is.
func (s said) word(w string) bool { return s.any(func(p spoken) bool { return p.words[w] }) }

// whole reports whether a text of the user has the address, and not one that ends or begins with it.
func (s said) whole(address string) bool {
	return s.any(func(p spoken) bool { return wholeIn(p.text, address) })
}

// ownText returns what a person has written in a message, without the files that came with it and what the framework has added.
func ownText(m *message.Message) string {
	if m.Role != message.RoleUser || m.Label != "" || m.Ephemeral {
		return ""
	}
	var sb strings.Builder
	for _, b := range m.Content.All() {
		if b.Kind == message.BlockText && !b.Attached() {
			sb.WriteString(b.Text + "\n")
		}
	}
	return sb.String()
}

// wordsOf returns the words and numbers of a text, in small letters.
func wordsOf(text string) []string {
	var out []string
	for _, w := range wordOrNumber.FindAllString(strings.ToLower(text), -1) {
		out = append(out, strings.Trim(w, ".,"))
	}
	return out
}

var (
	wordOrNumber = regexp.MustCompile(`[\p{L}\p{N}]+(?:[.,][\p{N}]+)*`)
	mailForm     = regexp.MustCompile(`[0-9A-Za-z._%+-]+@[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*`)
	hostForm     = regexp.MustCompile(`(?i)\b(?:[a-z0-9_-]+\.)+[a-z]{2,24}\b`)
	accountForm  = regexp.MustCompile(`\b[A-Z]{2}[0-9]{2}(?: ?[0-9A-Z]{3,4}){3,8}\b|\b[0-9](?:[ .-]?[0-9]){5,}\b`)
	momentForm   = regexp.MustCompile(`\b[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?\b|\b[0-9]{1,2}:[0-9]{2}\b`)
)

// fileEnds are ends of file names that look like names of hosts.
var fileEnds = []string{"go", "md", "txt", "py", "js", "ts", "json", "yaml", "yml", "html", "css", "sh", "pdf", "png", "jpg", "jpeg", "gif", "csv", "xml", "zip", "doc", "docx",
	"xls", "xlsx", "ppt", "pptx", "toml", "lock", "mod", "sum", "rs", "java", "rb", "sql", "log", "conf", "ini", "tar", "gz", "svg"}

// contentNames are names of arguments with what a call says, not whom or what it is for.
var contentNames = strings.Fields("body content contents message text description summary title subject note notes comment comments caption details location reason memo purpose agenda")

// leaf is one value of the arguments of a call, with the name of its member, and that of the argument in which it lies.
type leaf struct{ name, text, in string }

// valueOf returns the value of an argument.
func valueOf(leaves []leaf, name string) (string, bool) {
	i := slices.IndexFunc(leaves, func(l leaf) bool { return l.name == name && l.in == name })
	if i < 0 {
		return "", false
	}
	return leaves[i].text, true
}

func commandOf(leaves []leaf) (string, bool) { return valueOf(leaves, "command") }

// textsOf returns the values in their order, and behind them the names.
func textsOf(leaves []leaf) []string {
	var out, names []string
	for _, l := range leaves {
		out = append(out, l.text)
		names = append(names, l.name)
	}
	return append(out, strings.Join(names, " "))
}

// placeNames are names of arguments with an address, which may have no scheme.
var placeNames = strings.Fields("url uri urls link links href host hostname address endpoint page site domain src")

// placeForm is an address without a scheme.
var placeForm = regexp.MustCompile(`(?i)\b(?:[a-z0-9_-]+\.)+[a-z]{2,24}(?:[/?#:][^\s"'<>]*)?|\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?:[/?#:][^\s"'<>]*)?`)

// foreign returns the first part of a call that the user has not named; "" if there is none. What a call is for, an address or a name, has
// to be the user's; then what it says, its numbers and times may be from anywhere, but for addresses. A call that is for nothing
// has to be the user's by what it says, or by the tool's name.
func (s said) foreign(tool string, leaves []leaf) string {
	tied := false
	var soft []string
	for _, l := range leaves {
		rest, address := s.addresses(l.text)
		if address != "" {
			return address
		}
		content := slices.Contains(contentNames, strings.ToLower(l.name))
		if !content && rest != l.text && strings.TrimSpace(rest) == "" {
			tied = true
			continue
		}
		rest = momentForm.ReplaceAllString(rest, " ")
		words := slices.DeleteFunc(wordsOf(rest), plain)
		switch {
		case content || isNumber(rest):
			soft = append(soft, l.text)
		case len(words) == 0:
		case s.unnamed(rest, words) != "":
			return s.unnamed(rest, words)
		default:
			tied = true
		}
	}
	if tied {
		return ""
	}
	return s.untied(tool, soft)
}

var numberForm = regexp.MustCompile(`^\s*[-+]?[0-9]+(?:[.,][0-9]+)*\s*%?\s*$`)

func isNumber(text string) bool { return numberForm.MatchString(text) }

// addresses returns the text without the addresses that the user has named, and the first one that is not.
func (s said) addresses(text string) (rest, foreign string) {
	for _, form := range []*regexp.Regexp{linkForm, mailForm, hostForm, accountForm} {
		for _, at := range form.FindAllString(text, -1) {
			if form == accountForm && len(normal(at)) < 9 {
				continue
			}
			if form == hostForm && isFile(at) {
				continue
			}
			if !s.named(at) {
				return text, at
			}
			text = strings.Replace(text, at, " ", 1)
		}
	}
	return text, ""
}

// unnamed returns the first word of a name that the user has not said; "" if the name is his. A name of one word has to be there as it
// is; of a longer one half.
func (s said) unnamed(text string, words []string) string {
	if token := strings.ToLower(strings.Trim(strings.TrimSpace(text), `"'.,`)); !strings.ContainsAny(token, " \t\n") {
		if s.whole(token) || len(words) == 1 && normal(token) == normal(words[0]) && s.has(words[0]) {
			return ""
		}
		return token
	}
	missing := slices.DeleteFunc(slices.Clone(words), s.has)
	for _, w := range missing {
		if strings.ContainsFunc(w, unicode.IsDigit) {
			return w
		}
	}
	if 2*len(missing) > len(words) {
		return missing[0]
	}
	return ""
}

// untied judges a call that is for nobody by name: by what it says, its numbers and its day, or by the name of its tool.
func (s said) untied(tool string, soft []string) string {
	var words []string
	for _, text := range soft {
		if day := s.otherDay(text); day != "" {
			return day
		}
		if isNumber(text) && !s.word(strings.TrimSpace(text)) {
			return text
		}
		words = append(words, slices.DeleteFunc(wordsOf(momentForm.ReplaceAllString(text, " ")), plain)...)
	}
	if len(words) == 0 {
		for _, w := range wordsOf(split(tool)) {
			if len(w) > 2 && s.has(w) {
				return ""
			}
		}
		return tool
	}
	missing := slices.DeleteFunc(slices.Clone(words), s.has)
	if 2*len(missing) > len(words) {
		return missing[0]
	}
	return ""
}

var (
	dayForm   = regexp.MustCompile(`\b[0-9]{4}-[0-9]{2}-([0-9]{2})`)
	datedForm = regexp.MustCompile(`(?i)\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? [0-9]{1,2}|\b[0-9]{1,2}(?:st|nd|rd|th)?\.? (?:of )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|\b[0-9]{1,2}[./][0-9]{1,2}\b`)
)

// otherDay returns a day of the text that is none of those of the user, who has spoken of days.
func (s said) otherDay(text string) string {
	if !s.any(func(p spoken) bool { return datedForm.MatchString(p.text) }) {
		return ""
	}
	for _, m := range dayForm.FindAllStringSubmatch(text, -1) {
		day := strings.TrimLeft(m[1], "0")
		if !slices.ContainsFunc([]string{day, m[1], day + "st", day + "nd", day + "rd", day + "th"}, s.word) {
			return m[0]
		}
	}
	return ""
}

var camel = regexp.MustCompile(`([a-z])([A-Z])`)

// split returns the words of the name of a tool, without those of its server.
func split(tool string) string {
	if i := strings.LastIndex(tool, "__"); i >= 0 {
		tool = tool[i+2:]
	}
	return strings.NewReplacer("_", " ", "-", " ").Replace(camel.ReplaceAllString(tool, "$1 $2"))
}

// isFile reports whether what looks like the name of a host is that of a file.
func isFile(name string) bool {
	return slices.Contains(fileEnds, strings.ToLower(name[strings.LastIndexByte(name, '.')+1:]))
}

// named reports whether the user has named an address, or the host that it belongs to.
func (s said) named(address string) bool {
	low := strings.ToLower(strings.TrimRight(address, ".,;:!?"))
	if s.whole(low) || accountForm.MatchString(address) && s.any(func(p spoken) bool { return strings.Contains(p.normal, normal(low)) }) {
		return true
	}
	host := hostOf(low)
	if host == "" {
		return false
	}
	if strings.Contains(low, "@") && !strings.Contains(low, "//") {
		return s.trusts(host) // who names a host has not named everybody there
	}
	return s.trusts(host) || s.whole(host) && (!isFile(host) || s.any(func(p spoken) bool { return strings.Contains(p.text, "//"+host) }))
}

// trusts reports whether the host is one of those that need not be named.
func (s said) trusts(host string) bool {
	return slices.ContainsFunc(s.hosts, func(h string) bool { return host == h || strings.HasSuffix(host, "."+h) })
}

// wholeIn reports whether the text has the host, and not one that ends or begins with it.
func wholeIn(text, host string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], host)
		if i < 0 {
			return false
		}
		i += from
		before, after := byte(' '), byte(' ')
		if i > 0 {
			before = text[i-1]
		}
		if end := i + len(host); end < len(text) {
			after = text[end]
			if after == '.' && (end+1 == len(text) || text[end+1] <= ' ') {
				after = ' ' // the end of a sentence
			}
		}
		if !inHost(before) && !inHost(after) {
			return true
		}
		from = i + 1
	}
}

func inHost(b byte) bool {
	return b == '.' || b == '@' || b == '+' || b >= 0x80 || b == '-' || b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z'
}

// hostOf returns the host of an address in small letters.
func hostOf(address string) string {
	if _, rest, ok := strings.Cut(address, "//"); ok {
		address = rest
		if i := strings.IndexAny(address, "/?#\\"); i >= 0 {
			address = address[:i]
		}
	}
	if i := strings.LastIndexByte(address, '@'); i >= 0 {
		address = address[i+1:]
	}
	host, _, _ := strings.Cut(address, ":")
	return strings.Trim(host, ".")
}

// has reports whether the user has said the word, or one that begins like it.
func (s said) has(w string) bool {
	if s.word(w) {
		return true
	}
	if len(w) < 5 || strings.ContainsFunc(w, unicode.IsDigit) {
		return false
	}
	stem := w[:max(shortStem, len(w)-3)]
	return s.any(func(p spoken) bool { return p.stems[stem] })
}

// plainWords say nothing about whom or what a call is for.
var plainWords = strings.Fields("the a an and or of to for from in on at by with is are be as re fwd your you my our me we it this that please hi hello dear thanks thank regards best " +
	"true false yes no none null all new origin main master head utf plain text html")

// plain reports whether the word says nothing.
func plain(w string) bool {
	return len(w) < 2 || len(w) < 3 && !strings.ContainsFunc(w, unicode.IsDigit) || slices.Contains(plainWords, w)
}

// leavesOf returns the values of arguments with their names; of a list or an object all of its own.
func leavesOf(args message.JSON) (out []leaf) {
	var doc any
	dec := json.NewDecoder(strings.NewReader(string(args)))
	dec.UseNumber()
	if dec.Decode(&doc) != nil {
		return []leaf{{text: string(args)}}
	}
	var walk func(name, in string, v any)
	walk = func(name, in string, v any) {
		switch v := v.(type) {
		case string:
			out = append(out, leaf{name, v, in})
		case json.Number:
			out = append(out, leaf{name, v.String(), in})
		case []any:
			for _, e := range v {
				walk(name, in, e)
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				if in != "" && strings.ContainsAny(k, "@. ") { // a name that is a value
					out = append(out, leaf{name, k, in})
				}
				top := in
				if top == "" {
					top = k
				}
				walk(k, top, v[k])
			}
		}
	}
	walk("", "", doc)
	return out
}

// made returns the first address of a call that only fetches which nobody has written as it is, at a host that the user has not
// named; "" if there is none.
func (s said) made(leaves []leaf, known *taint) string {
	for _, l := range leaves {
		forms := []*regexp.Regexp{linkForm}
		if slices.Contains(placeNames, strings.ToLower(l.name)) {
			forms = append(forms, placeForm)
		}
		for _, form := range forms {
			for _, link := range form.FindAllString(l.text, -1) {
				if !known.seen(link) && !s.named(link) && !isFile(link) {
					return link
				}
			}
		}
	}
	return ""
}

// strangeCommand returns the first address of a command line that the user has not named, wherever it stands, or the first
// operand; "" if there is none. The programs and their flags are the business of rules.
func (s said) strangeCommand(line string) string {
	line = strings.ReplaceAll(line, "\\\n", " ")
	for _, form := range []*regexp.Regexp{linkForm, mailForm, placeForm} {
		for _, at := range form.FindAllString(line, -1) {
			if form == placeForm && (isFile(at) || strings.Contains(at, "/") && ofProject(at)) {
				continue
			}
			if !s.named(at) {
				return at
			}
			line = strings.ReplaceAll(line, at, " ")
		}
	}
	if strings.Contains(line, "$(") || strings.Contains(line, "`") {
		return "what a command in it prints"
	}
	for i, operand := range strings.Fields(line) {
		operand = strings.Trim(operand, `"'`)
		words := slices.DeleteFunc(wordsOf(operand), plain)
		if i < 2 || strings.HasPrefix(operand, "-") || len(words) == 0 || ofProject(operand) {
			continue
		}
		if part := s.unnamed(operand, words); part != "" {
			return part
		}
	}
	return ""
}

// ofProject reports whether an operand is a path below the project, or the name of a file.
func ofProject(operand string) bool {
	first, _, dirs := strings.Cut(operand, "/")
	switch {
	case strings.Contains(operand, "//") || strings.Contains(operand, "..") || first == "" || strings.ContainsAny(first, "~:@$*"):
		return false
	case strings.HasPrefix(first, "."):
		return true
	case dirs:
		return !strings.Contains(first, ".")
	}
	return strings.Contains(operand, ".") && isFile(operand)
}

// sends are the calls by which programs reach another machine.
var sends = regexp.MustCompile(`(?i)\b(?:curl|wget|urlopen|urlretrieve|requests\.|httpx\.|aiohttp|http\.(?:get|post|request|newrequest|client)|fetch\(|axios|xmlhttprequest|sendbeacon|websocket|socket\.|create_connection|net\.dial|/dev/tcp|smtplib|invoke-webrequest|http\.client|nc -|ncat|telnet|net/http|open-uri|file_get_contents|httpclient|reqwest)`)

// sender returns an address that the user has not named in the text of a program that sends; "" if there is none. What runs the program
// later says nothing of it.
func (s said) sender(text string) string {
	if !sends.MatchString(text) {
		return ""
	}
	for _, form := range []*regexp.Regexp{linkForm, mailForm} {
		for _, at := range form.FindAllString(text, -1) {
			if !s.named(at) {
				return at
			}
		}
	}
	return ""
}
