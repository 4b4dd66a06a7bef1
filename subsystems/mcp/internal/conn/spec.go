package conn

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/supervisor"
)

// Spec says how to reach a server: a command, or the URL of an HTTP endpoint. A printed
// Spec shows no environment, headers or query of the URL, because they have credentials.
type Spec struct {
	Command string
	Args    []string
	// Env is the whole environment of the process, NAME=value; of two settings of
	// one name the last counts.
	Env []string
	Dir string
	// Needs are what the process needs beyond its sandbox.
	Needs []string
	// URL has to pass [CheckURL].
	URL string
	// Headers are sent with every request; each has to pass [CheckHeader].
	Headers map[string]string
}

// Fingerprint is equal for two specs if and only if they are equal, including their
// credentials. Do not show it: short secrets can be guessed from it.
type Fingerprint [sha256.Size]byte

// Fingerprint returns the fingerprint of the spec.
func (s Spec) Fingerprint() Fingerprint {
	h := sha256.New()
	// Quoted, so that no two specs give the same text.
	fmt.Fprintf(h, "%q %q %q %q %q %q", s.Command, s.Args, s.Env, s.Dir, s.Needs, s.URL)
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		fmt.Fprintf(h, " %q: %q", http.CanonicalHeaderKey(name), s.Headers[name])
	}
	return Fingerprint(h.Sum(nil))
}

// String is the command with its arguments, or the URL without its query.
func (s Spec) String() string {
	if s.URL == "" {
		return strings.Join(append([]string{s.Command}, s.Args...), " ")
	}
	base, _, query := strings.Cut(s.URL, "?")
	if query {
		base += "?…"
	}
	return base
}

// GoString is the same for %#v.
func (s Spec) GoString() string { return "wire.Spec(" + s.String() + ")" }

func (s Spec) clone() Spec {
	s.Args, s.Env, s.Needs, s.Headers = slices.Clone(s.Args), slices.Clone(s.Env), slices.Clone(s.Needs), maps.Clone(s.Headers)
	return s
}

// command returns the command. A name without a slash is looked up in PATH.
func (s Spec) command() (_ supervisor.Command, err error) {
	path := s.Command
	if filepath.Base(path) == path {
		if path, err = exec.LookPath(path); err != nil {
			return supervisor.Command{}, fmt.Errorf("start: %w", err)
		}
	}
	return supervisor.Command{Path: path, Args: append([]string{s.Command}, s.Args...), Env: s.Env, Dir: s.Dir}, nil
}

const hidden = "[hidden]"

// clean hides the credentials of the spec in an untrusted text: some servers repeat what
// they were sent.
func (s Spec) clean(text string) string {
	var secrets []string
	for _, value := range s.Headers {
		secrets = append(secrets, value)
		if _, token, ok := strings.Cut(value, " "); ok { // "Bearer …"
			secrets = append(secrets, token)
		}
	}
	if _, query, ok := strings.Cut(s.URL, "?"); ok {
		secrets = append(secrets, query)
		for _, part := range strings.Split(query, "&") {
			_, value, _ := strings.Cut(part, "=")
			plain, err := url.QueryUnescape(value)
			if secrets = append(secrets, value); err == nil {
				secrets = append(secrets, plain)
			}
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // replace the whole before its parts
	for _, secret := range secrets {
		if len(secret) >= 4 { // a shorter one is in many texts
			text = strings.ReplaceAll(text, secret, hidden)
		}
	}
	return text
}

// CheckURL returns nil for the URL of a usable endpoint: https, or http to this machine,
// so that no credentials are sent in plain text. The error does not repeat the URL.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		return errors.New("its url must be https://host/path")
	case u.User != nil:
		return errors.New("its url must not hold a user name or password; put credentials into headers")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && loopbackName(u.Hostname()):
		return nil
	case u.Scheme == "http":
		return errors.New("its url must begin with https://; http is for servers on this machine only")
	}
	return errors.New("its url must begin with https://")
}

func loopbackName(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9!#$%&'*+.^_|~-]+$`)

// CheckHeader returns nil for a header that may be sent with every request. The error does
// not repeat the value.
func CheckHeader(name, value string) error {
	switch canonical := http.CanonicalHeaderKey(name); {
	case !headerName.MatchString(name):
		return errors.New("headers must have names of letters, digits and -")
	case strings.ContainsFunc(value, isControl):
		return fmt.Errorf("the header %s must have a value of one line", canonical)
	case ownHeader(canonical):
		return fmt.Errorf("the header %s is set by the protocol", canonical)
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// ownHeader reports whether the protocol itself sets the header.
func ownHeader(canonical string) bool {
	switch canonical {
	case "Accept", "Connection", "Content-Length", "Content-Type", "Host", "Last-Event-Id", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade":
		return true
	}
	return strings.HasPrefix(canonical, "Mcp-")
}
