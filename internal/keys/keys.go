// Package keys finds the keys of vendors: in an environment variable, in a file that only the
// user can read, in the system's keyring, or in the output of a command of the user.
//
//	k := keys.New(&keys.Options{Commands: commands})
//	secret, err := k.Read(ctx, keys.Source{Command: []string{"op", "read", "op://private/openai/key"}})
//
// A key is read when it is needed first, and then kept in memory. It is never part of an error.
package keys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/internal/supervisor"
)

// Source says where a key is. At most one field is set; the zero value is no key.
type Source struct {
	// Env is an environment variable with the key.
	Env string
	// File is a file with the key, which only the user may read; ~/ is the home directory.
	File string
	// Keyring is the account of the key in the system's keyring, under the service "grapnel".
	Keyring string
	// Command is a program and its arguments that print the key. No shell reads it.
	Command []string
}

// None reports whether the source is the zero value.
func (s Source) None() bool {
	return s.Env == "" && s.File == "" && s.Keyring == "" && len(s.Command) == 0
}

// Slow reports whether reading the key can take long or ask the user: it is then read at the
// first request and not before.
func (s Source) Slow() bool { return s.Keyring != "" || len(s.Command) > 0 }

// String names the source without its key: "the variable OPENAI_API_KEY". Arguments of a
// command are left out, because they may be secret.
func (s Source) String() string {
	switch {
	case s.Env != "":
		return "the variable " + s.Env
	case s.File != "":
		return "the file " + s.File
	case s.Keyring != "":
		return "the keyring's entry " + s.Keyring
	case len(s.Command) > 0:
		return "the command " + filepath.Base(s.Command[0])
	}
	return "nowhere"
}

// id distinguishes sources.
func (s Source) id() string { return fmt.Sprintf("%q %q %q %q", s.Env, s.File, s.Keyring, s.Command) }

// fileSuffix makes the name of a variable with the path of a key's file from that of a
// variable with the key.
const fileSuffix = "_FILE"

// FromEnv returns the source of the first of the variables that is set, itself or as NAME_FILE
// with the path of a file; none if no variable is set.
func FromEnv(getenv func(string) string, names ...string) (Source, error) {
	for _, name := range names {
		key, file := getenv(name) != "", getenv(name+fileSuffix)
		switch {
		case key && file != "":
			return Source{}, fmt.Errorf("both %s and %s are set; unset one of them", name, name+fileSuffix)
		case key:
			return Source{Env: name}, nil
		case file != "":
			return Source{File: file}, nil
		}
	}
	return Source{}, nil
}

// Options of New; nil is all zero values.
type Options struct {
	// Getenv looks up variables; nil is os.Getenv.
	Getenv func(string) string
	// Commands starts the commands that print keys; nil starts none. The caller closes it.
	Commands *supervisor.Supervisor
	// Environ is the environment of those commands; nil is that of this process.
	Environ []string
	// Keyring returns a secret of the system's keyring; nil is [System].
	Keyring func(service, account string) (string, error)
	// Timeout limits how long a command or the keyring may take; 0 is 30 seconds, because
	// both may have to ask the user.
	Timeout time.Duration
}

const defaultTimeout = 30 * time.Second

// Keys reads keys and keeps them. It is safe for concurrent use.
type Keys struct {
	o Options

	mu   sync.Mutex
	kept map[string]*entry
}

// entry is the key of one source.
type entry struct {
	// turn has room for one: who reads the key.
	turn   chan struct{}
	secret Secret // guarded by turn
	read   bool   // guarded by turn
}

// New returns keys of which none is read yet.
func New(o *Options) *Keys {
	k := &Keys{kept: map[string]*entry{}}
	if o != nil {
		k.o = *o
	}
	if k.o.Getenv == nil {
		k.o.Getenv = os.Getenv
	}
	if k.o.Keyring == nil {
		k.o.Keyring = func(service, account string) (string, error) { return System(k.o.Getenv, service, account) }
	}
	if k.o.Timeout == 0 {
		k.o.Timeout = defaultTimeout
	}
	return k
}

// Read returns the key of the source. It reads a source once: later calls, and those that come
// meanwhile, get the same key. A source that fails is read again by the next call. Read blocks
// for as long as a command or the keyring takes, at most for Options.Timeout or until ctx ends.
func (k *Keys) Read(ctx context.Context, s Source) (Secret, error) {
	e := k.entry(s)
	select {
	case e.turn <- struct{}{}:
	case <-ctx.Done():
		return Secret{}, fmt.Errorf("read the key from %s: %w", s, context.Cause(ctx))
	}
	if e.read {
		defer func() { <-e.turn }()
		return e.secret, nil
	}
	if s.Keyring != "" {
		return k.fromKeyring(ctx, s, e)
	}
	defer func() { <-e.turn }()
	text, err := k.text(ctx, s)
	if err == nil {
		e.secret, err = valid(text)
	}
	if err != nil {
		return Secret{}, fmt.Errorf("the key from %s: %w", s, err)
	}
	e.read = true
	return e.secret, nil
}

// Forget lets the next Read read the source again: a vendor has refused the key.
func (k *Keys) Forget(s Source) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.kept, s.id())
}

func (k *Keys) entry(s Source) *entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.kept[s.id()]
	if e == nil {
		e = &entry{turn: make(chan struct{}, 1)}
		k.kept[s.id()] = e
	}
	return e
}

func (k *Keys) text(ctx context.Context, s Source) (string, error) {
	switch {
	case s.Env != "":
		text := k.o.Getenv(s.Env)
		if text == "" {
			return "", errors.New("it is not set")
		}
		return text, nil
	case s.File != "":
		return k.fromFile(s.File)
	case len(s.Command) > 0:
		ctx, cancel := context.WithTimeout(ctx, k.o.Timeout)
		defer cancel()
		return k.fromCommand(ctx, s.Command)
	}
	return "", errors.New("no source is named")
}

// Present reports whether the source has a key, as far as that can be told without running a
// command or opening the keyring. hint says where the key comes from or what is missing.
func (k *Keys) Present(s Source) (present bool, hint string) {
	switch {
	case s.None():
		return false, "no key"
	case s.Env != "" && k.o.Getenv(s.Env) == "":
		return false, s.Env + " is not set"
	case s.File != "":
		if _, err := k.fromFile(s.File); err != nil {
			return false, err.Error()
		}
	}
	return true, s.String()
}

// maxKey bounds a key, in bytes.
const maxKey = 16 << 10

// valid returns the key in a text: one line of printable ASCII without blanks in it. The
// errors have no part of the text.
func valid(text string) (Secret, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return Secret{}, errors.New("it is empty")
	case len(text) > maxKey:
		return Secret{}, fmt.Errorf("it is longer than %d bytes", maxKey)
	case strings.ContainsAny(text, "\r\n"):
		return Secret{}, errors.New("it must be a key in one line")
	case slices.ContainsFunc([]byte(text), func(b byte) bool { return b <= ' ' || b > '~' }):
		return Secret{}, errors.New("it has a blank or another character that no key has")
	}
	return Secret{text}, nil
}
