// Package target says which daemon a command speaks to: the one on a socket of this machine, or a server.
package target

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/internal/conffile"
)

// TokenVariable is the environment variable that has the token for a server.
const TokenVariable = "GRAPNEL_TOKEN"

// Daemon is the daemon that the flags of a command name; the zero value is the one on the default socket.
type Daemon struct {
	// Socket is the path of a unix socket; "" is the default one. Server is the URL of a server; ""
	// is none. Either may be several, with commas between them: daemons over one store, of which
	// any one will do.
	Socket string
	Server string
	// TokenFile is the file with the token for the server; "" takes the token from the environment.
	TokenFile string
	// CA is the file with the authority of the server's certificate, in PEM; "" trusts those of the system.
	CA string
}

// Remote reports whether the daemon is a server, whose files are not those of this command.
func (d Daemon) Remote() bool { return d.Server != "" }

// Named reports whether the flags name a daemon.
func (d Daemon) Named() bool { return d.Server != "" || d.Socket != "" }

// Check returns an error for flags that do not go together, and for a server to which no token may be sent. It asks nobody.
func (d Daemon) Check() error {
	switch {
	case d.Server != "" && d.Socket != "":
		return errors.New("--server and --socket name two daemons; leave one out")
	case d.Server == "" && (d.TokenFile != "" || d.CA != ""):
		return errors.New("--token-file and --ca are for a server; name it with --server https://HOST:PORT")
	}
	for _, server := range d.servers() {
		if err := d.check(server); err != nil {
			return err
		}
	}
	return nil
}

func (d Daemon) servers() []string { return split(d.Server) }

// Sockets returns the paths of the sockets; none is the default one.
func (d Daemon) Sockets() []string { return split(d.Socket) }

func split(several string) (out []string) {
	if several == "" {
		return nil
	}
	for one := range strings.SplitSeq(several, ",") {
		out = append(out, strings.TrimSpace(one))
	}
	return out
}

// check returns an error if no token may be sent to the server.
func (d Daemon) check(server string) error {
	u, err := url.Parse(server)
	switch {
	case err != nil && strings.Contains(server, "@"): // it may have a password
		return errors.New("--server is no URL; write one such as https://build.example:7777")
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("--server is %.100q; write a URL such as https://build.example:7777", server)
	case u.User != nil:
		return errors.New("--server has a user or a password; leave it out, and give a token with --token-file or " + TokenVariable)
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("--server is %.100q; write the scheme, the host and the port only, such as %s://%s", server, u.Scheme, u.Host)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return fmt.Errorf("--server %s is not encrypted, and others could read the token on its way; nothing was sent; use https, "+
			"and start the daemon with --tls-cert and --tls-key", server)
	case u.Scheme == "http" && d.CA != "":
		return errors.New("--ca is for https; write https:// in --server, or leave it out")
	}
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Client returns a client of the server. It reads the token and the authority; getenv reads the environment.
func (d Daemon) Client(getenv func(string) string, o client.Options) (*client.Client, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	var err error
	if o.Token, err = d.token(getenv); err != nil {
		return nil, err
	}
	if d.CA != "" {
		if o.TLS, err = d.authority(); err != nil {
			return nil, err
		}
	}
	o.Start = "grapnel serve --listen HOST:PORT"
	servers := d.servers()
	o.Others = servers[1:]
	return client.New(servers[0], &o), nil
}

// token reads the token. No error has it.
func (d Daemon) token(getenv func(string) string) (string, error) {
	text, from := getenv(TokenVariable), TokenVariable
	if d.TokenFile != "" {
		data, err := conffile.Read(d.TokenFile, &conffile.Options{Max: maxToken, Secret: true})
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		text, from = string(data), d.TokenFile
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "" && d.TokenFile == "":
		return "", fmt.Errorf("%s needs a token: make one there with `grapnel token create NAME`, put it into a file that only you can read, and name "+
			"the file with --token-file, or set %s", d.Server, TokenVariable)
	case text == "":
		return "", fmt.Errorf("%s is empty; put the token of `grapnel token create` into it", from)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("what %s has is no token: it has blanks, line breaks or letters that no token has; make one with `grapnel token create`", from)
	}
	return text, nil
}

// maxToken is the longest file of a token in bytes.
const maxToken = 4 << 10

// authority returns settings that trust the certificates in the file, and no others.
func (d Daemon) authority() (*tls.Config, error) {
	data, err := conffile.Read(d.CA, nil)
	if err != nil {
		return nil, fmt.Errorf("--ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("--ca: %s has no certificate in PEM; it begins with -----BEGIN CERTIFICATE-----", d.CA)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}
