package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/paths"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/proxy"
)

// Grant is what a process may do beyond reading tools and the project. The zero value may change the project, and has no network.
type Grant struct {
	// ReadOnly: the project cannot be changed.
	ReadOnly bool
	// Below is an absolute path in the project, without links: of the project, only what is below it is there. "" is all.
	Below string
	// Write and Read are absolute paths outside of the project that may be changed, or read, with all that is below them.
	Write, Read []string
	// Hosts are the hosts that may be reached through the proxy: "api.example.com", "*.example.com", "db.example.com:5432".
	Hosts []string
	// UnixSockets lets the process use unix sockets: its own, and those in directories that it can read, such as /opt and /nix.
	UnixSockets bool
	// Change: the project can be changed, also by a process that lasts.
	Change bool
	// Outside: there is no sandbox.
	Outside bool
}

// Request is one thing that a process may be granted beyond the zero [Grant].
type Request struct {
	Kind RequestKind
	// Value is a path or a host; "" for the kinds without one.
	Value string
}

// RequestKind is the kind of a request.
type RequestKind string

// The kinds.
const (
	// Write PATH and Read PATH.
	Write RequestKind = "write"
	Read  RequestKind = "read"
	// Connect HOST.
	Connect RequestKind = "connect"
	// Sockets are unix sockets.
	Sockets RequestKind = "unix-sockets"
	// Change is to change the project, for a process that lasts: see [Command.Lasting].
	Change RequestKind = "project"
	// Outside is no sandbox at all.
	Outside RequestKind = "outside"
)

// Ask describes the form of requests, for errors and for the description of a tool.
const Ask = `"write PATH", "read PATH", "connect HOST", "unix-sockets", or "outside" for no sandbox at all`

// ParseRequest reads a request: "write ~/go/pkg/mod". A path is absolute, begins with ~ or is relative to the project; it must lie outside
// of the project. It is made absolute and its links are followed, so that the sentence names what is really meant.
func (s *Sandbox) ParseRequest(text string) (Request, error) {
	kind, value, _ := strings.Cut(strings.TrimSpace(text), " ")
	r := Request{RequestKind(kind), strings.TrimSpace(value)}
	switch r.Kind {
	case Write, Read:
		p, err := s.resolve(r.Value)
		if err != nil {
			return Request{}, fmt.Errorf("%q: %w", text, err)
		}
		r.Value = p
	case Connect:
		host, err := proxy.ParseHost(strings.TrimPrefix(r.Value, "to "))
		if err != nil {
			return Request{}, fmt.Errorf("%q: %w", text, err)
		}
		r.Value = host.String()
	case Sockets, Change, Outside:
		if r.Value != "" {
			return Request{}, fmt.Errorf("%q: nothing stands behind %s", text, r.Kind)
		}
	default:
		return Request{}, fmt.Errorf("%q is no request; write %s", text, Ask)
	}
	if s.strict && r.Kind != Connect && r.Kind != Change {
		return Request{}, fmt.Errorf("%q: %w", text, errStrict)
	}
	return r, nil
}

// errStrict: see [Options.Strict].
var errStrict = errors.New("nothing of the machine is granted here, because several people share the user of this program; work in the project, or \"connect HOST\"")

// Granted returns the grant of some requests, in the form of [Sandbox.ParseRequest].
func (s *Sandbox) Granted(requests []string) (g Grant, err error) {
	for _, text := range requests {
		r, err := s.ParseRequest(text)
		if err != nil {
			return Grant{}, err
		}
		g = g.With(r)
	}
	return g, nil
}

// Caveats returns what a person should know of a process with requests beyond their text: that nothing confines it as promised, and
// what its paths are when their links are followed. A nil Sandbox has none.
func (s *Sandbox) Caveats(requests []string) (out []string) {
	if s == nil {
		return nil
	}
	if ok, why := s.Confines(); !ok && why != "" {
		out = append(out, "it is not confined as its sandbox promises: "+why)
	}
	for _, text := range requests {
		if r, err := s.ParseRequest(text); err == nil && (r.Kind == Read || r.Kind == Write) {
			out = append(out, "it may "+s.Sentence(r))
		}
	}
	return out
}

// resolve returns the absolute path that a request means, without links. What does not exist yet is named by its parent.
func (s *Sandbox) resolve(p string) (string, error) {
	switch {
	case p == "":
		return "", fmt.Errorf("there is no path; write \"write ~/go/pkg/mod\"")
	case strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", fmt.Errorf("the path has control characters in it")
	case p == "~" || strings.HasPrefix(p, "~/"):
		p = filepath.Join(s.home, p[1:])
	case !filepath.IsAbs(p):
		p = filepath.Join(s.project, p)
	}
	p = filepath.Clean(p)
	if _, in := paths.Below(s.project, p); in {
		// A link in the project could lead elsewhere by the time the command starts.
		return "", fmt.Errorf("%s is in the project, which commands can change anyway; what is read-only in it, only a person changes", p)
	}
	real, err := s.follow(p)
	if err == nil && real == "/" {
		return "", errors.New("/ is everything; name what is needed")
	}
	return real, err
}

// maxLinks bounds the links of one path, as Linux does.
const maxLinks = 40

// follow returns a path without links. What does not exist yet is named by its directory. No step may lie in the project or in the
// sandbox's own directories, where a command could turn a link, nor in the directories of the kernel, by which both can be reached.
func (s *Sandbox) follow(p string) (string, error) {
	at, rest := "/", strings.Split(p, "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." {
			continue
		}
		at = filepath.Join(at, name)
		for _, dir := range []string{s.project, s.dirs.state, "/proc", "/dev", "/sys"} {
			if _, in := paths.Below(dir, at); in {
				return "", fmt.Errorf("%s leads into %s; name what is meant", p, dir)
			}
		}
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(rest) == 0:
			return at, nil
		case err != nil:
			return "", fmt.Errorf("%s does not exist, and neither does its directory", p)
		case info.Mode()&fs.ModeSymlink == 0:
			continue
		}
		to, err := os.Readlink(at)
		if err != nil || links == maxLinks {
			return "", fmt.Errorf("%s has links that lead nowhere", p)
		}
		links++
		rest = append(strings.Split(to, "/"), rest...)
		if at = filepath.Dir(at); filepath.IsAbs(to) {
			at = "/"
		}
	}
	return at, nil
}

// Sentence says what the request is, for a person who is asked: "write to ~/go/pkg/mod". If the level cannot enforce the request alone,
// the sentence says what it comes to.
func (s *Sandbox) Sentence(r Request) string {
	switch r.Kind {
	case Write:
		return "write to " + s.short(r.Value)
	case Read:
		return "read " + s.short(r.Value)
	case Connect:
		if s.Report().Level == Reduced {
			return "connect to " + r.Value + ", and to every other host, because this level of the sandbox cannot tell them apart"
		}
		return "connect to " + r.Value
	case Sockets:
		if s.Report().Level == Reduced {
			return "use unix sockets, those of other programs as well"
		}
		return "use unix sockets, also of programs below /opt and /nix"
	case Change:
		return "change the project"
	}
	return "run outside of the sandbox"
}

// short writes a path below the home directory with ~.
func (s *Sandbox) short(p string) string {
	if rel, ok := paths.Below(s.home, p); ok {
		return filepath.Join("~", rel)
	}
	return p
}

// Exceeds reports whether the request is beyond a grant that limits a call: it changes or reads something else, or uses a network that
// is not allowed.
func (r Request) Exceeds(g Grant, noNetwork bool) bool {
	switch r.Kind {
	case Outside:
		return true
	case Write, Change:
		return g.ReadOnly || g.Below != ""
	case Read:
		return g.Below != ""
	case Connect:
		return noNetwork
	}
	return false
}

// With returns the grant with a request added.
func (g Grant) With(r Request) Grant {
	add := func(to []string) []string { return append(slices.Clone(to), r.Value) }
	switch r.Kind {
	case Write:
		g.Write = add(g.Write)
	case Read:
		g.Read = add(g.Read)
	case Connect:
		g.Hosts = add(g.Hosts)
	case Sockets:
		g.UnixSockets = true
	case Change:
		g.Change = true
	case Outside:
		g.Outside = true
	}
	return g
}
