package keys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/zalando/go-keyring"
)

// service is the name under which the keyring has keys for this program.
const service = "grapnel"

// errNoKeyring: the system has no keyring.
var errNoKeyring = errors.New("there is no keyring here (no D-Bus session with a secret service); keep the key in a file that only you can read (key: {file: …}), or print it with a command (key: {command: […]})")

// System returns a secret of the system's keyring: Keychain, Credential Manager, or the secret
// service of a D-Bus session. It starts no D-Bus session where there is none.
func System(getenv func(string) string, service, account string) (string, error) {
	switch runtime.GOOS {
	case "darwin", "windows":
	default:
		if !hasBus(getenv) {
			return "", errNoKeyring
		}
	}
	text, err := keyring.Get(service, account)
	switch {
	case errors.Is(err, keyring.ErrNotFound):
		return "", fmt.Errorf("the keyring has no such entry; %s", howToStore(account))
	case errors.Is(err, keyring.ErrUnsupportedPlatform):
		return "", errNoKeyring
	case err != nil:
		return "", fmt.Errorf("the keyring cannot be read: %w; unlock it, or keep the key in a file that only you can read (key: {file: …})", err)
	}
	return text, nil
}

// hasBus reports whether there is a D-Bus session. Without one the library would start it.
func hasBus(getenv func(string) string) bool {
	if address := getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" {
		return address != "autolaunch:"
	}
	_, err := os.Stat(filepath.Join("/run/user", strconv.Itoa(os.Getuid()), "bus"))
	return err == nil
}

func howToStore(account string) string {
	switch runtime.GOOS {
	case "darwin":
		return fmt.Sprintf("store it: security add-generic-password -s %s -a %s -w", service, account)
	case "windows":
		return fmt.Sprintf("store it: cmdkey /generic:%s:%s /user:%s /pass", service, account, account)
	}
	return fmt.Sprintf("store it: secret-tool store --label=%s service %s username %s", service, service, account)
}

// fromKeyring reads the key of an entry whose turn the caller has. The library takes no
// context: a reading that is given up goes on alone, and keeps the turn until it ends.
func (k *Keys) fromKeyring(ctx context.Context, s Source, e *entry) (Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, k.o.Timeout)
	defer cancel()
	type result struct {
		secret Secret
		err    error
	}
	done := make(chan result, 1)
	go func() {
		defer func() { <-e.turn }()
		text, err := k.o.Keyring(service, s.Keyring)
		var r result
		if r.err = err; err == nil {
			r.secret, r.err = valid(text)
		}
		e.secret, e.read = r.secret, r.err == nil
		done <- r
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return Secret{}, fmt.Errorf("the key from %s: %w", s, r.err)
		}
		return r.secret, nil
	case <-ctx.Done():
		return Secret{}, fmt.Errorf("the key from %s: the keyring did not answer: %w; unlock it and try again", s, context.Cause(ctx))
	}
}
