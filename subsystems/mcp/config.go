package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/internal/conffile"
	"github.com/grapnel-go/grapnel/subsystems/mcp/internal/conn"
)

// Config is the content of a file with servers.
type Config struct {
	// Servers in the order of the file.
	Servers []Server
	// Warnings name entries without effect, and mistakes that make a server unusable,
	// one sentence each. They never quote values.
	Warnings []string
}

// Server declares one server. A printed or encoded Server shows no environment, headers or
// query of the URL, because they have credentials.
type Server struct {
	// Name matches ^[A-Za-z0-9_-]+$ and is part of the names of the tools.
	Name string
	// Command is the program: a path, or a name to look up in PATH. A server has a
	// command or a URL.
	Command string
	Args    []string
	// Env is added to the few variables that a server inherits.
	Env map[string]string `json:"-"`
	// URL is the HTTP endpoint: https, or http to this machine.
	URL string `json:"-"`
	// Headers are sent with every request to the URL.
	Headers map[string]string `json:"-"`
	// Timeout bounds each call; 0 is the default of [Options].
	Timeout time.Duration
	// Harmless: no tool of this server overwrites or deletes anything. The author of the
	// configuration says so; the server's own annotations do not count. Without it all
	// tools count as destructive.
	Harmless bool
	// Reads are the tools of this server, or patterns of their names, that change nothing anywhere. The author of the configuration says so, too.
	Reads []string
	// Needs are what the server's process needs beyond its sandbox: "connect api.example.com", "project" to change it,
	// "write ~/notes", "read PATH", "unix-sockets", or "outside" for no sandbox at all.
	Needs []string
	// Required: an agent that uses the server waits for it, and is not built without it.
	Required bool
	// Refused says why the server cannot be used; "" if it can.
	Refused string
	// Disabled: the file turns the server off. Refused says so, too.
	Disabled bool
	// expanded has the values of the variables that were replaced in it.
	expanded []string
}

// String returns the name and the command with its arguments, or the URL without its
// query.
func (s Server) String() string {
	return s.Name + ": " + conn.Spec{Command: s.Command, Args: s.Args, URL: s.URL}.String()
}

// GoString is the same for %#v.
func (s Server) GoString() string { return "mcp.Server(" + s.String() + ")" }

var serverName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// refuse sets Refused if the name conflicts with the servers declared before. Tool names
// begin with the server's name. A name with which tool names of another server could begin
// is refused, so that no server can claim a tool name of another.
func (s *Server) refuse(before []*server) {
	if s.Refused != "" {
		return
	}
	if !serverName.MatchString(s.Name) {
		s.Refused = "its name must consist of letters, digits, _ and -"
		return
	}
	if s.Command == "" && s.URL == "" {
		s.Refused = "it has neither a command nor a url"
		return
	}
	if s.Refused = s.wrong(); s.Refused != "" {
		return
	}
	for _, b := range before {
		one, other := b.cfg.Name+"__", s.Name+"__"
		if strings.HasPrefix(one, other) || strings.HasPrefix(other, one) {
			s.Refused = fmt.Sprintf("its tool names could be those of server %q; rename one of the two", b.cfg.Name)
			return
		}
	}
}

// wrong returns the mistake in the command or URL; "" if there is none.
func (s *Server) wrong() string {
	switch {
	case s.Command != "" && s.URL != "":
		return "it has a command and a url; a server is one or the other"
	case s.URL == "" && s.Headers != nil:
		return "headers belong to a url"
	case s.URL == "":
		return ""
	case s.Args != nil || s.Env != nil:
		return "args and env belong to a command"
	}
	if err := conn.CheckURL(s.URL); err != nil {
		return err.Error()
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if err := conn.CheckHeader(name, s.Headers[name]); err != nil {
			return err.Error()
		}
		lower := strings.ToLower(name)
		if seen[lower] {
			return "the header " + name + " is given twice"
		}
		seen[lower] = true
	}
	return ""
}

// Load reads a file in the format of .mcp.json, see [Parse]; variables come from
// the environment of the process. The error of a missing file is fs.ErrNotExist.
func Load(path string) (Config, error) {
	data, err := conffile.Read(path, &conffile.Options{JSON: true})
	if err != nil {
		return Config{}, fmt.Errorf("mcp: %w", err)
	}
	cfg, err := Parse(data, os.LookupEnv)
	if err != nil {
		return Config{}, fmt.Errorf("mcp: %s: %w", path, err)
	}
	return cfg, nil
}

// Parse reads the text of a .mcp.json:
//
//	{"mcpServers": {"files": {"command": "npx", "args": ["-y", "files@1"],
//	  "env": {"KEY": "${KEY:-none}"}, "timeout": 60000, "destructive": false},
//	 "remote": {"type": "http", "url": "https://host/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}}}
//
// A url without a type is http. In command, args, env, url and headers, ${NAME} and
// ${NAME:-default} are replaced by the values of lookup. An unset name without a default
// stays as it is, with a warning. A nil lookup replaces nothing: the result is for people.
// The timeout is in milliseconds for each call; below 1000 it has no effect. A wrong entry
// makes only its server unusable, with a warning. Text that is not a JSON object, and a
// repeated server, are errors with their place.
func Parse(data []byte, lookup func(name string) (string, bool)) (Config, error) {
	if err := checkSyntax(data); err != nil {
		return Config{}, err
	}
	var cfg Config
	found := false
	err := eachMember(data, func(key string, raw json.RawMessage) error {
		if key != "mcpServers" {
			cfg.warn("the key %q has no effect; servers are declared under mcpServers", key)
			return nil
		}
		found = true
		return eachMember(raw, func(name string, raw json.RawMessage) error {
			cfg.Servers = append(cfg.Servers, cfg.server(name, raw, lookup))
			return nil
		})
	})
	if err == nil && !found {
		cfg.warn("no server is declared: the key mcpServers is missing")
	}
	return cfg, err
}

func (c *Config) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
}

// server reads one entry. For a wrong entry it returns a refused server.
func (c *Config) server(name string, raw json.RawMessage, lookup func(string) (string, bool)) Server {
	e := entry{name: name, lookup: lookup, cfg: c}
	if err := eachMember(raw, e.member); err != nil {
		e.fail("%v", err)
	}
	s := e.finish()
	if s.Disabled {
		s.Refused = "it is disabled in the list of servers"
		return s
	}
	if s.refuse(nil); s.Refused != "" {
		c.warn("server %q cannot be used: %s", name, s.Refused)
	}
	return s
}

// entry is a server that is being read.
type entry struct {
	name   string
	lookup func(string) (string, bool)
	cfg    *Config
	out    Server
	kind   string
	values []string // of the user's variables
}

// fail keeps the first reason why the server cannot be used.
func (e *entry) fail(format string, args ...any) {
	if e.out.Refused == "" {
		e.out.Refused = fmt.Sprintf(format, args...)
	}
}

func (e *entry) member(key string, raw json.RawMessage) error {
	switch key {
	case "type":
		decode(e, key, raw, &e.kind, "a string")
	case "command":
		decode(e, key, raw, &e.out.Command, "a string")
	case "args":
		decode(e, key, raw, &e.out.Args, "a list of strings")
	case "env":
		decode(e, key, raw, &e.out.Env, "an object of strings")
	case "url":
		decode(e, key, raw, &e.out.URL, "a string")
	case "headers":
		decode(e, key, raw, &e.out.Headers, "an object of strings")
	case "timeout":
		var ms float64
		decode(e, key, raw, &ms, "a number of milliseconds")
		e.timeout(ms)
	case "destructive":
		destructive := true
		decode(e, key, raw, &destructive, "true or false")
		e.out.Harmless = !destructive
	case "reads":
		decode(e, key, raw, &e.out.Reads, "a list of strings")
	case "needs":
		decode(e, key, raw, &e.out.Needs, "a list of strings")
	case "required":
		decode(e, key, raw, &e.out.Required, "true or false")
	case "disabled":
		decode(e, key, raw, &e.out.Disabled, "true or false")
	case "alwaysLoad", "description":
		// The format has this key; here all tools are always loaded.
	default:
		e.cfg.warn("server %q: the key %q has no effect", e.name, key)
	}
	return nil
}

// decode reads one value; null counts as absent.
func decode[T any](e *entry, key string, raw json.RawMessage, to *T, what string) {
	if string(raw) == "null" {
		return
	}
	if err := json.Unmarshal(raw, to); err != nil {
		var zero T
		*to = zero
		e.fail("%s must be %s", key, what)
	}
}

func (e *entry) timeout(ms float64) {
	const most = float64(24 * time.Hour / time.Millisecond)
	switch {
	case ms == 0:
	case ms < 1000:
		e.cfg.warn("server %q: a timeout below 1000 (milliseconds) has no effect", e.name)
	default:
		e.out.Timeout = time.Duration(min(ms, most)) * time.Millisecond
	}
}

// finish judges the transport and expands the variables.
func (e *entry) finish() Server {
	switch e.kind {
	case "":
	case "stdio":
		if e.out.Command == "" {
			e.fail("it has no command")
		}
	case "http", "streamable-http":
		if e.out.URL == "" {
			e.fail("it has no url")
		}
	case "sse", "ws":
		e.fail("the transport %s is not supported; use http, or stdio for a program", e.kind)
	default:
		e.fail("its type must be stdio or http")
	}
	s := e.out
	s.Name = e.name
	s.Command, s.URL = e.expand("command", s.Command), e.expand("url", s.URL)
	for i, a := range s.Args {
		s.Args[i] = e.expand("args", a)
	}
	for _, k := range slices.Sorted(maps.Keys(s.Env)) {
		s.Env[k] = e.expand("env", s.Env[k])
	}
	for _, k := range slices.Sorted(maps.Keys(s.Headers)) {
		s.Headers[k] = e.expand("headers", s.Headers[k])
	}
	s.expanded = e.values
	return s
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

func (e *entry) expand(where, text string) string {
	if e.lookup == nil {
		return text
	}
	return variable.ReplaceAllStringFunc(text, func(whole string) string {
		parts := variable.FindStringSubmatch(whole)
		if value, set := e.lookup(parts[1]); set {
			e.values = append(e.values, value)
			return value
		}
		if def, ok := strings.CutPrefix(parts[2], ":-"); ok {
			return def
		}
		e.cfg.warn("server %q: %s names the variable %s, which is not set", e.name, where, parts[1])
		return whole
	})
}
