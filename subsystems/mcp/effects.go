package mcp

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Effects returns everything of the server that has an effect, one line each, for a person
// who decides about it: the command with its arguments or the URL, the environment, the
// headers, and the user's variables that it gets. A value that looks like a secret is shown
// as [secret:N], N being its length; the command and its arguments are shown as they are.
// Read the server without replacing its variables (see [Parse]). set reports which variables
// have a value; nil is none.
func (s Server) Effects(set func(name string) bool) []string {
	e := effects{server: s}
	if s.URL == "" {
		e.command()
	} else {
		e.remote()
	}
	e.variables(set)
	if len(s.Needs) > 0 {
		e.add("beyond its sandbox it needs: %s", printable(strings.Join(s.Needs, ", ")))
	}
	if s.Timeout > 0 {
		e.add("each call may take %s", s.Timeout)
	}
	if s.Required {
		e.add("agents that use it wait for it and do not start without it")
	}
	if s.Harmless {
		e.add("its tools are not taken for destructive, by the word of this file")
	}
	if len(s.Reads) > 0 {
		e.add("its tools %s are taken for tools that only read, by the word of this file", strings.Join(s.Reads, ", "))
	}
	return e.lines
}

// Variables returns the names of the variables in the server's values, sorted. Read the
// server without replacing them.
func (s Server) Variables() []string {
	names := map[string]bool{}
	for _, text := range s.texts() {
		for _, m := range variable.FindAllStringSubmatch(text, -1) {
			names[m[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// texts returns all values in which variables are replaced.
func (s Server) texts() []string {
	return slices.Concat([]string{s.Command, s.URL}, s.Args, slices.Collect(maps.Values(s.Env)), slices.Collect(maps.Values(s.Headers)))
}

// effects collects the lines about one server.
type effects struct {
	server Server
	lines  []string
}

func (e *effects) add(format string, args ...any) {
	e.lines = append(e.lines, printable(e.server.Name)+": "+fmt.Sprintf(format, args...))
}

func (e *effects) command() {
	words := []string{word(e.server.Command)}
	for _, a := range e.server.Args { // unmasked: any argument can name the program that runs
		words = append(words, word(a))
	}
	e.add("%s", strings.Join(words, " "))
	for _, name := range slices.Sorted(maps.Keys(e.server.Env)) {
		value, note := masked(name, e.server.Env[name]), ""
		if steers(name) {
			value, note = e.server.Env[name], " (can say which code programs load or run)"
		}
		e.add("environment %s=%s%s", word(name), word(value), note)
	}
}

func (e *effects) remote() {
	e.add("%s", word(maskedURL(e.server.URL)))
	for _, name := range slices.Sorted(maps.Keys(e.server.Headers)) {
		e.add("header %s: %s", word(name), printable(masked(name, e.server.Headers[name])))
	}
}

// variables adds the lines about the user's variables that the server gets.
func (e *effects) variables(set func(string) bool) {
	for _, name := range e.server.Variables() {
		switch {
		case set == nil || !set(name):
			e.add("names your variable %s, which is not set", name)
		case e.server.URL == "":
			e.add("the program gets your variable %s", name)
		case local(e.server.URL):
			e.add("your variable %s is sent to a server of this machine", name)
		default:
			e.add("your variable %s LEAVES THIS MACHINE, with every request", name)
		}
	}
}

// local reports whether the text of the URL names this machine.
func local(text string) bool {
	u, err := url.Parse(variable.ReplaceAllString(text, "x"))
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// steers reports whether the variable can make programs load or run code: its value is
// always shown.
func steers(name string) bool {
	name = strings.ToUpper(name)
	if strings.HasSuffix(name, "TOKEN") || strings.HasSuffix(name, "PASSWORD") || strings.HasSuffix(name, "SECRET") {
		return false
	}
	for _, prefix := range []string{"LD_", "DYLD_", "GIT_", "NPM_CONFIG_", "PYTHON", "PERL5", "RUBY", "NODE_", "JAVA_", "BASH_",
		"PIP_", "UV_", "CARGO_", "GO", "MAKE", "RUST", "GEM_", "BUNDLE_", "DOTNET_", "DOCKER_", "DENO_", "BUN_", "YARN_", "PNPM_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{
		"PATH", "ENV", "SHELL", "EDITOR", "VISUAL", "PAGER", "BROWSER", "IFS", "PS4", "PROMPT_COMMAND", "CLASSPATH", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS",
		"GCONV_PATH", "LUA_INIT", "LUA_PATH", "LUA_CPATH", "PHPRC", "PHP_INI_SCAN_DIR", "R_PROFILE", "HOME", "XDG_CONFIG_HOME", "ZDOTDIR", "TCLLIBPATH",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
	}, name)
}

var (
	secretName = regexp.MustCompile(`(?i)(key|token|secret|passw|auth|cookie|credential|signature)`)
	// secretForm matches the beginnings of many keys, and long random texts.
	secretForm = regexp.MustCompile(`^(?:(?:sk|pk|rk|ghp|gho|ghs|ghu|glpat|xox[a-z]|github_pat|AKIA|AIza|eyJ|hf)[-_A-Za-z0-9][-_.A-Za-z0-9]{12,}|[A-Za-z0-9+_=-]{32,})$`)
)

// minSecret is the minimum length of a secret, in bytes.
const minSecret = 6

// masked returns a value for people: a text that looks like a secret, by its name or form, is
// replaced by its length. A reference to a variable stays, because the file does not have
// its value.
func masked(name, value string) string {
	refs := variable.FindAllStringSubmatchIndex(value, -1)
	var sb strings.Builder
	last := 0
	for _, m := range append(refs, []int{len(value), len(value)}) {
		sb.WriteString(maskedText(name, value[last:m[0]]))
		if len(m) > 2 {
			sb.WriteString("${" + value[m[2]:m[3]])
			if m[4] >= 0 {
				sb.WriteString(":-" + maskedText(name, value[m[4]+2:m[5]]))
			}
			sb.WriteString("}")
		}
		last = m[1]
	}
	return sb.String()
}

// maskedText hides secrets in a text without variables. It keeps a word such as Bearer before
// a secret.
func maskedText(name, text string) string {
	if text == "" {
		return ""
	}
	head, rest := "", text
	if scheme, after, ok := strings.Cut(text, " "); ok && len(scheme) < 12 && !secretForm.MatchString(scheme) {
		head, rest = scheme+" ", after
	}
	if trimmed := strings.TrimSpace(rest); len(trimmed) >= minSecret && (secretName.MatchString(name) || secretForm.MatchString(trimmed)) {
		return fmt.Sprintf("%s[secret:%d]", head, len(trimmed))
	}
	return text
}

// maskedURL hides the secrets of a URL: its password, and the values of its query.
func maskedURL(text string) string {
	base, query, ok := strings.Cut(text, "?")
	if scheme, rest, found := strings.Cut(base, "://"); found {
		if user, host, found := strings.Cut(rest, "@"); found && !strings.Contains(user, "/") {
			name, password, _ := strings.Cut(user, ":")
			base = scheme + "://" + name + ":" + masked("password", password) + "@" + host
		}
	}
	if !ok {
		return base
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		if name, value, ok := strings.Cut(part, "="); ok {
			parts[i] = name + "=" + masked(name, value)
		}
	}
	return base + "?" + strings.Join(parts, "&")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./${}~?&\[\]-]+$`)

// word returns a word with visible begin and end.
func word(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// printable escapes characters that a terminal would not show as they are.
func printable(text string) string {
	if !strings.ContainsFunc(text, unprintable) {
		return text
	}
	return strconv.Quote(text)
}

func unprintable(r rune) bool { return !strconv.IsPrint(r) }
