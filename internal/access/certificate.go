package access

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/internal/conffile"
)

// Certificate is a certificate with its key, in two PEM files that are read again when they change: a new one needs no restart. It is
// safe for concurrent use.
type Certificate struct {
	cert, key string
	note      func(text string)

	mu     sync.Mutex
	loaded *tls.Certificate
	read   [2]fs.FileInfo
	looked time.Time
}

// lookAgain is the time between two looks at the files.
const lookAgain = time.Second

// LoadCertificate reads a certificate. note gets a sentence when a later one was read, and when it cannot be; then the one before stays.
func LoadCertificate(cert, key string, note func(text string)) (*Certificate, error) {
	c := &Certificate{cert: cert, key: key, note: note}
	if err := c.load(c.files()); err != nil {
		return nil, err
	}
	return c, nil
}

// Config returns the settings of TLS: version 1.2 or later, and HTTP/1.1.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return c.Current(), nil
	}}
}

// Names reports whether the certificate is for a host.
func (c *Certificate) Names(host string) bool { return c.Current().Leaf.VerifyHostname(host) == nil }

// Current returns the certificate as the files have it. The caller does not change it.
func (c *Certificate) Current() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < lookAgain {
		return c.loaded
	}
	c.looked = time.Now()
	files := c.files()
	if sameFile(files[0], c.read[0]) && sameFile(files[1], c.read[1]) {
		return c.loaded
	}
	if err := c.load(files); err != nil {
		c.read = files // until they change again
		c.note(fmt.Sprintf("the certificate has changed and cannot be used, so the one before stays: %v", err))
		return c.loaded
	}
	c.note("the certificate has changed; the new one ends on " + c.loaded.Leaf.NotAfter.UTC().Format(time.DateTime) + " UTC")
	return c.loaded
}

// files returns what is known of the two files; nil of one that is not there.
func (c *Certificate) files() (out [2]fs.FileInfo) {
	for i, path := range []string{c.cert, c.key} {
		if info, err := os.Stat(path); err == nil {
			out[i] = info
		}
	}
	return out
}

// pair reads both files. They may be something else by now, such as a pipe; and the key is nobody else's.
func (c *Certificate) pair() (tls.Certificate, error) {
	cert, err := conffile.Read(c.cert, nil)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := conffile.Read(c.key, &conffile.Options{Secret: true})
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

func (c *Certificate) load(files [2]fs.FileInfo) error {
	loaded, err := c.pair()
	if err != nil {
		return fmt.Errorf("the certificate %s with the key %s: %w", c.cert, c.key, err)
	}
	if time.Now().After(loaded.Leaf.NotAfter) {
		return errors.New("the certificate " + c.cert + " has ended on " + loaded.Leaf.NotAfter.UTC().Format(time.DateTime) + " UTC")
	}
	c.loaded, c.read, c.looked = &loaded, files, time.Now()
	return nil
}
