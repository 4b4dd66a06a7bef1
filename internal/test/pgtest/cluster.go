package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// Options are the options of a cluster; the zero value is one that only the socket reaches.
type Options struct {
	// TCP makes the cluster listen on 127.0.0.1 too. Over TCP it asks for Password.
	TCP bool
	// Sync makes commits wait for the disk. Without it they survive a kill of the server, but
	// not a loss of power.
	Sync bool
	// Settings are lines of postgresql.conf, such as "max_connections = 20".
	Settings []string
}

// Cluster is a running PostgreSQL with a data directory of its own. Its methods are not safe for
// concurrent use.
type Cluster struct {
	dir, bin string
	port     int
	password string
	server   server
	// watched is closed by the end of this process; then the watcher stops the server and
	// removes the directory.
	watched io.WriteCloser
	watcher *exec.Cmd
}

// Start starts a cluster, which the end of the test stops and removes. It takes about a second.
func Start(t testing.TB, o *Options) *Cluster {
	t.Helper()
	Programs(t)
	if o == nil {
		o = &Options{}
	}
	c, err := start(*o)
	started(t, err)
	t.Cleanup(c.end)
	return c
}

// started ends the test if PostgreSQL did not start. A user id without a name, as in a container, is no fault of the code.
func started(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if strings.Contains(err.Error(), "could not look up effective user ID") {
		needs.Lacking(t, "this user id has no name, which initdb wants")
	}
	t.Fatalf("start PostgreSQL: %v", err)
}

// DSN returns the DSN of a database of the cluster, over the socket; "" is the database
// postgres.
func (c *Cluster) DSN(database string) string {
	if database == "" {
		database = "postgres"
	}
	return "postgres:///" + database + "?host=" + url.QueryEscape(c.dir) + "&port=" + strconv.Itoa(c.port) + "&user=postgres"
}

// Address returns the address on which a cluster with Options.TCP listens, "127.0.0.1:5432".
func (c *Cluster) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)) }

// Password returns the password of the user postgres, which only connections over TCP need.
func (c *Cluster) Password() string { return c.password }

// Dir returns the directory of the cluster, in which the server can write. It has the socket, and
// the data in "data".
func (c *Cluster) Dir() string { return c.dir }

// WriteFile writes a file into Dir that only the server can read.
func (c *Cluster) WriteFile(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := c.write(name, data); err != nil {
		t.Fatalf("write a file for PostgreSQL: %v", err)
	}
}

func (c *Cluster) write(name string, data []byte) error {
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	return own(path)
}

// Database is [Database] in this cluster.
func (c *Cluster) Database(t testing.TB) string {
	t.Helper()
	return c.server.database(t, "")
}

// Stop stops the server. Mode is "fast", which ends sessions and writes everything to disk, or
// "immediate", which is a crash: the next start recovers from the log.
func (c *Cluster) Stop(t testing.TB, mode string) {
	t.Helper()
	if err := c.stop(mode); err != nil {
		t.Fatalf("stop PostgreSQL: %v", err)
	}
}

// Continue starts the server again after Stop, and returns when it accepts connections.
func (c *Cluster) Continue(t testing.TB) {
	t.Helper()
	if err := c.serve(); err != nil {
		t.Fatalf("start PostgreSQL again: %v", err)
	}
}

// Restart is Stop and Continue.
func (c *Cluster) Restart(t testing.TB, mode string) {
	t.Helper()
	c.Stop(t, mode)
	c.Continue(t)
}

func start(o Options) (*Cluster, error) {
	bin, err := findPrograms()
	if err != nil {
		return nil, err
	}
	dir, err := makeDir()
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, bin: bin, port: 5432, password: rand.Text()}
	c.server = newServer(c.DSN)
	if err := c.watch(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := c.initialise(o); err != nil {
		c.end()
		return nil, err
	}
	return c, nil
}

// initialise makes the data directory and starts the server.
func (c *Cluster) initialise(o Options) error {
	if err := c.write("password", []byte(c.password)); err != nil {
		return err
	}
	err := c.run("initdb", "--pgdata="+c.data(), "--username=postgres", "--pwfile="+filepath.Join(c.dir, "password"), "--auth-local=trust", "--auth-host=scram-sha-256",
		"--encoding=UTF8", "--locale=C", "--no-sync")
	if err != nil {
		return err
	}
	listen := "''"
	if o.TCP {
		listen = "'127.0.0.1'"
		if c.port, err = freePort(); err != nil {
			return err
		}
	}
	lines := append([]string{"listen_addresses = " + listen, "unix_socket_directories = '" + c.dir + "'", "max_connections = 100",
		"shared_buffers = 32MB", "fsync = " + strconv.FormatBool(o.Sync)}, o.Settings...)
	conf, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = conf.WriteString("\n" + strings.Join(lines, "\n") + "\n")
	if err := errors.Join(err, conf.Close()); err != nil {
		return err
	}
	return c.serve()
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// serve starts the server. A server that was killed may leave processes that hold its memory for
// a moment, so serve tries again.
func (c *Cluster) serve() error {
	var err error
	for range 20 {
		err = c.run("pg_ctl", "start", "--wait", "--silent", "--timeout=60", "--pgdata="+c.data(),
			"--log="+filepath.Join(c.dir, "log"), "--options=-p "+strconv.Itoa(c.port))
		if err == nil {
			return c.answers()
		}
		time.Sleep(100 * time.Millisecond)
	}
	log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
	return fmt.Errorf("%w\n%s", err, log[max(0, len(log)-2000):])
}

func (c *Cluster) answers() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.DSN(""))
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

func (c *Cluster) stop(mode string) error {
	return c.run("pg_ctl", "stop", "--wait", "--silent", "--mode="+mode, "--pgdata="+c.data())
}

// run runs a program of PostgreSQL to its end.
func (c *Cluster) run(name string, args ...string) error {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = attributes()
	if out, err := cmd.CombinedOutput(); err != nil { // pg_ctl gives the server its log instead of this pipe
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// watch starts the process that stops the server and removes the directory once this process has
// ended, however it ends: then the pipe closes.
func (c *Cluster) watch() error {
	cmd := exec.Command("/bin/sh", "-c", `cat >/dev/null
if [ -d "$2/data" ]; then "$1/pg_ctl" stop --silent --mode=immediate --pgdata="$2/data" >/dev/null 2>&1; fi
rm -rf "$2"`, "sh", c.bin, c.dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = attributes()
	var err error
	if c.watched, err = cmd.StdinPipe(); err != nil {
		return err
	}
	c.watcher = cmd
	return cmd.Start()
}

// end stops the server and removes the directory.
func (c *Cluster) end() {
	_ = c.watched.Close()
	_ = c.watcher.Wait()
	_ = os.RemoveAll(c.dir) // what other users have put there
}

// makeDir makes the directory of a cluster. The path of a socket has at most 107 bytes.
func makeDir() (string, error) {
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		return "", err
	}
	const socket = len("/.s.PGSQL.65535.lock")
	if len(dir)+socket > 100 {
		return "", errors.Join(fmt.Errorf("the path %s is too long for a socket: set TMPDIR to a shorter one", dir), os.Remove(dir))
	}
	return dir, own(dir)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err := errors.Join(err, l.Close()); err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}

// findPrograms returns the directory of PostgreSQL's programs: that of initdb in PATH, the one
// that pg_config names, or the newest of those that Debian has.
func findPrograms() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		path, err = filepath.EvalSymlinks(path)
		return filepath.Dir(path), err
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		if dir := strings.TrimSpace(string(out)); isProgram(filepath.Join(dir, "initdb")) {
			return dir, nil
		}
	}
	newest, found := 0, ""
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for _, dir := range dirs {
		version, err := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		if err == nil && version > newest && isProgram(filepath.Join(dir, "initdb")) {
			newest, found = version, dir
		}
	}
	if found == "" {
		return "", errors.New("PostgreSQL is not installed: there is no initdb")
	}
	return found, nil
}

func isProgram(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}
