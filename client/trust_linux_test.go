package client_test

import (
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

const nobody = 65534

// TestSocketsOfOthers: a client says nothing to a daemon that others can have put there.
func TestSocketsOfOthers(t *testing.T) {
	t.Parallel()
	private := func(*testing.T, string) {}
	for _, c := range []struct {
		name         string
		listen       func(network, address string) (net.Listener, error)
		put          func(t *testing.T, dir string)
		found, named string // what a client of the default socket says, and one of a named one
	}{
		{"private", net.Listen, private, "", ""},
		{"open to others", net.Listen, func(t *testing.T, dir string) { require.NoError(t, os.Chmod(dir, 0o755)) }, "is open to others (mode 0755)", ""},
		{"for everybody", net.Listen, func(t *testing.T, dir string) { require.NoError(t, os.Chmod(dir, 0o777|fs.ModeSticky)) }, "is open to others (mode 0777)", ""},
		{"another user's directory", net.Listen, func(t *testing.T, dir string) {
			needRoot(t)
			require.NoError(t, os.Chown(dir, nobody, nobody))
		}, "belongs to another user", ""},
		{"another user's daemon", listenAsNobody, private, "user 65534 listens on it", "user 65534 listens on it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.name == "another user's daemon" {
				needRoot(t)
			}
			asked := make(chan string, 2)
			path := serveWith(t, func(w http.ResponseWriter, r *http.Request) {
				asked <- r.URL.Path
				_, _ = w.Write([]byte(`{"root":"/project"}`))
			}, c.listen)
			c.put(t, filepath.Dir(path))
			for named, want := range map[bool]string{false: c.found, true: c.named} {
				health, err := client.New(path, &client.Options{Named: named}).Health(t.Context())
				if want == "" {
					require.NoError(t, err)
					assert.Equal(t, "/project", health.Root)
					<-asked
					continue
				}
				require.ErrorIs(t, err, client.ErrUntrusted)
				assert.ErrorContains(t, err, want)
				assert.ErrorContains(t, err, "--socket")
				assert.Empty(t, asked)
			}
		})
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		needs.Lacking(t, "this is not root, so nothing can be given to another user")
	}
}

// listenAsNobody listens on a thread that is nobody's, whom the kernel then names as the
// peer. The thread ends with its goroutine.
func listenAsNobody(network, address string) (ln net.Listener, err error) {
	if err := os.Chmod(filepath.Dir(address), 0o777); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		same := ^uintptr(0)
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, same, nobody, same); errno != 0 {
			err = errno
			return
		}
		ln, err = net.Listen(network, address)
	}()
	<-done
	if err == nil {
		err = os.Chmod(filepath.Dir(address), 0o700)
	}
	return ln, err
}
