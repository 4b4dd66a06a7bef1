package config

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/grapnel-go/grapnel/internal/keys"
	"github.com/grapnel-go/grapnel/internal/spell"
	"github.com/grapnel-go/grapnel/internal/yamldoc"
)

// Vendor has the settings of one vendor. Zero values are the vendor's defaults.
type Vendor struct {
	// Preset is the vendor whose wire a vendor of the user's own has; "" for the program's.
	Preset string
	// Key says where the key is; none is the vendor's variable.
	Key keys.Source
	// BaseURL is the address of the API.
	BaseURL string
	// CAFile is the path of a file with further authorities, absolute or with ~/.
	CAFile string
	// Proxy is the URL of a proxy, or "none".
	Proxy string
	// FirstByteTimeout and IdleTimeout limit the time to the first byte of an answer, and
	// that between two of its parts; below 0 is no limit.
	FirstByteTimeout, IdleTimeout time.Duration
	// Header is added to every request.
	Header http.Header
	// ContextWindow is that of the vendor's models, in tokens.
	ContextWindow int
}

var (
	vendorName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	variable   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

func (r *reader) vendors(v *yaml.Node) {
	r.Vendors = map[string]Vendor{}
	r.fields.Named(v, "vendors", "write `vendors: {openai: {key: {env: OPENAI_API_KEY}}}`", func(k, v *yaml.Node) {
		name := k.Value
		if !vendorName.MatchString(name) || name == "script" {
			r.wrongAt(k, fmt.Sprintf("%q is no name for a vendor", name), "use 1 to 32 lower-case letters, digits and -, the first one being a letter")
			return
		}
		r.Vendors[name] = r.vendor(k, v)
	})
}

func (r *reader) vendor(k, v *yaml.Node) Vendor {
	var out Vendor
	at := "vendors." + k.Value
	if yamldoc.Empty(v) {
		r.preset(k, "")
		return out
	}
	r.fields.Mapping(v, at, "write `key: {env: NAME}`, `base_url: https://…` below it", map[string]func(*yaml.Node){
		"preset":   func(n *yaml.Node) { out.Preset = r.fields.Text(n, at+".preset") },
		"key":      func(n *yaml.Node) { out.Key = r.key(n, at+".key") },
		"base_url": func(n *yaml.Node) { out.BaseURL = r.address(n, at+".base_url", "http", "https") },
		"ca_file":  func(n *yaml.Node) { out.CAFile = r.path(n, at+".ca_file") },
		"proxy": func(n *yaml.Node) {
			if out.Proxy = n.Value; n.Value != "none" {
				out.Proxy = r.address(n, at+".proxy", "http", "https", "socks5", "socks5h")
			}
		},
		"first_byte_timeout": func(n *yaml.Node) { out.FirstByteTimeout = r.timeout(n, at+".first_byte_timeout") },
		"idle_timeout":       func(n *yaml.Node) { out.IdleTimeout = r.timeout(n, at+".idle_timeout") },
		"headers":            func(n *yaml.Node) { out.Header = r.headers(n, at+".headers") },
		"context_window":     func(n *yaml.Node) { out.ContextWindow = int(r.fields.Number(n, at+".context_window")) },
	})
	r.preset(k, out.Preset)
	return out
}

// preset checks that a vendor is one of the program's, or names the one whose wire it has.
func (r *reader) preset(k *yaml.Node, preset string) {
	own := slices.Contains(r.known, k.Value)
	list := strings.Join(r.known, ", ")
	switch {
	case own && preset != "":
		r.wrongAt(k, fmt.Sprintf("%s is a vendor of the program and has no preset", k.Value), "delete preset, or give your server another name")
	case own:
	case preset == "":
		fix := "name the vendor whose wire it has with preset: one of " + list
		if near := spell.Closest(k.Value, r.known); near != "" {
			fix = fmt.Sprintf("did you mean %s? A server of your own has a preset", near)
		}
		r.wrongAt(k, fmt.Sprintf("there is no vendor %q", k.Value), fix)
	case !slices.Contains(r.known, preset):
		r.wrongAt(k, fmt.Sprintf("there is no preset %q", preset), "use one of "+list)
	}
}

const keyFix = "write `key: {env: NAME}`, `{file: PATH}`, `{keyring: NAME}` or `{command: [PROGRAM, ARGUMENT]}`"

// key reads where a key is. Its messages have no values: people write keys here by mistake.
func (r *reader) key(v *yaml.Node, key string) keys.Source {
	var out keys.Source
	if v.Kind != yaml.MappingNode {
		r.wrongAt(v, key+" is no mapping: the key itself does not belong here", keyFix)
		return out
	}
	if len(v.Content) != 2 {
		r.wrongAt(v, key+" must name one place", keyFix)
		return out
	}
	r.fields.Members(v, "key of "+key, map[string]func(*yaml.Node){
		"env": func(n *yaml.Node) {
			out.Env = n.Value
			switch {
			case n.Kind != yaml.ScalarNode || !variable.MatchString(n.Value) || len(n.Value) > 64:
				r.wrongAt(n, key+".env is no name of a variable", "write the name, such as OPENAI_API_KEY, and not the key")
			case inherited(n.Value):
				r.wrongAt(n, fmt.Sprintf("%s.env is %s, which commands and MCP servers inherit", key, n.Value), "keep the key in a variable of its own")
			}
		},
		"file":    func(n *yaml.Node) { out.File = r.path(n, key+".file") },
		"keyring": func(n *yaml.Node) { out.Keyring = r.fields.Text(n, key+".keyring") },
		"command": func(n *yaml.Node) {
			const fix = "write the program and its arguments as a list: `command: [op, read, \"op://private/openai/key\"]`"
			out.Command = r.fields.Texts(n, key+".command", fix)
			if n.Kind == yaml.SequenceNode && (len(out.Command) == 0 || out.Command[0] == "") {
				r.wrongAt(n, key+".command names no program", fix)
				out.Command = nil
			}
		},
	})
	return out
}

// inherited reports whether commands of agents or MCP servers get the variable.
func inherited(name string) bool {
	always := []string{
		"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER", "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA",
		"PATHEXT", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
	}
	name = strings.ToUpper(name)
	return slices.Contains(always, name) || strings.HasPrefix(name, "LC_")
}

// path reads a path that does not depend on the working directory.
func (r *reader) path(v *yaml.Node, key string) string {
	path := r.fields.Text(v, key)
	if path != "" && !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/") {
		r.wrongAt(v, key+" depends on the working directory", "write an absolute path, or one that begins with ~/")
	}
	return path
}

// address reads a URL. Its messages do not show it: it may hold a password.
func (r *reader) address(v *yaml.Node, key string, schemes ...string) string {
	text := r.fields.Text(v, key)
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		r.wrongAt(v, key+" is no address", fmt.Sprintf("write %s://host:port/path", strings.Join(schemes, "|")))
	}
	return text
}

// timeout reads a duration; off is no limit.
func (r *reader) timeout(v *yaml.Node, key string) time.Duration {
	if v.Value == "off" {
		return -1
	}
	return r.fields.Duration(v, key)
}

func (r *reader) headers(v *yaml.Node, key string) http.Header {
	out := http.Header{}
	r.fields.Named(v, key, "write `headers: {X-Team: blue}`", func(k, v *yaml.Node) {
		valid := v.Kind == yaml.ScalarNode && !strings.ContainsFunc(v.Value, func(c rune) bool { return c < ' ' || c > '~' })
		if !headerName.MatchString(k.Value) || !valid {
			r.wrongAt(k, key+" has no valid name or value here", "write `NAME: value` with printable ASCII")
			return
		}
		out.Set(k.Value, v.Value)
	})
	return out
}
