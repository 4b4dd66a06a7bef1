//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
)

// replica stands for the machine of a container: its places are in a directory, and its ports others.
type replica struct {
	dir   string
	shown map[int]int // ports by those of the file
	cmd   *exec.Cmd
	out   bytes.Buffer
	ct    container
}

// moved is a word of the container with its paths and ports moved.
func (r *replica) moved(word string) string {
	word = regexp.MustCompile(`https://\$\(POD_NAME\)[^:]*`).ReplaceAllString(word, "https://127.0.0.1")
	word = strings.Replace(word, "0.0.0.0", "127.0.0.1", 1)
	for from, to := range r.shown {
		word = regexp.MustCompile(fmt.Sprintf(`:%d$`, from)).ReplaceAllString(word, ":"+strconv.Itoa(to))
	}
	if strings.HasPrefix(word, "/") {
		return r.dir + word
	}
	return word
}

// start starts the program as the container does, over the database.
func (r *replica) start(t *testing.T, dsn, cert, key string) {
	t.Helper()
	var args []string
	for i, word := range r.ct.args {
		if i > 0 && r.ct.args[i-1] == "--store" {
			word = dsn
		}
		args = append(args, r.moved(word))
		if i == 0 || !strings.HasPrefix(word, "/") {
			continue
		}
		switch flag := r.ct.args[i-1]; {
		case strings.HasSuffix(flag, "-cert"), strings.HasSuffix(flag, "-ca"):
			putFile(t, r.moved(word), cert)
		case strings.HasSuffix(flag, "-key"):
			putFile(t, r.moved(word), key)
		case flag == "--dir":
			require.NoError(t, os.MkdirAll(r.moved(word), 0o700))
		case flag == "--socket":
			require.NoError(t, os.MkdirAll(filepath.Dir(r.moved(word)), 0o700))
		}
	}
	r.cmd = exec.CommandContext(t.Context(), "grapnel", args...)
	r.cmd.Env = append(os.Environ(), "HOME="+r.dir, "XDG_RUNTIME_DIR=")
	for name, value := range r.ct.env {
		if strings.HasSuffix(name, "FILE") {
			putFile(t, r.moved(value), "secret")
		}
		r.cmd.Env = append(r.cmd.Env, name+"="+r.moved(value))
	}
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	require.NoError(t, r.cmd.Start())
}

// putFile makes a file for the user alone.
func putFile(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

// probe asks as the container's engine does; it wants no certificate that it knows.
func (r *replica) probe(p containerProbe) (int, error) {
	c := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	at := "https://127.0.0.1:" + strconv.Itoa(r.shown[p.port]) + p.path
	if p.socket != "" {
		c.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", r.moved(p.socket))
		}}
		at = "http://localhost" + p.path
	}
	req, err := http.NewRequest(http.MethodGet, at, nil)
	if err != nil {
		return 0, err
	}
	if p.host != "" {
		req.Host = p.host
	}
	res, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = ln.Close() }()
	return ln.Addr().(*net.TCPAddr).Port
}

// composeReplicas are the daemons of the compose file. They share the directory of their sockets.
func composeReplicas(t *testing.T) (out []*replica) {
	t.Helper()
	var f compose
	require.NoError(t, yaml.Unmarshal([]byte(source(t, "deploy/compose.yaml")), &f))
	var found problems
	for _, name := range []string{"a", "b", "c"} {
		out = append(out, &replica{ct: composeContainer(f.Services[name], &found)})
	}
	require.Empty(t, found)
	return out
}

// podReplicas are the pods of the StatefulSet.
func podReplicas(t *testing.T) (out []*replica) {
	t.Helper()
	dec := yaml.NewDecoder(strings.NewReader(source(t, "deploy/kubernetes.yaml")))
	var found problems
	for {
		var o object
		require.NoError(t, dec.Decode(&o))
		if o.Kind != "StatefulSet" {
			continue
		}
		for range o.Spec.Replicas {
			out = append(out, &replica{ct: podContainer(o.Spec, o.Spec.Template.Spec.Containers[0], &found)})
		}
		require.Empty(t, found)
		return out
	}
}

// TestDeployStartsTheProgram: the program starts with the words and variables of each file, over one PostgreSQL; every probe of the
// file is answered, the daemons answer each other, and they end when they are told to.
func TestDeployStartsTheProgram(t *testing.T) {
	needs.Time(t)
	for name, replicas := range map[string][]*replica{"compose": composeReplicas(t), "kubernetes": podReplicas(t)} {
		t.Run(name, func(t *testing.T) {
			dsn, shared := pgtest.Database(t), shortDir(t)
			require.NoError(t, writeCertificate(shared+"/cert", shared+"/key", "127.0.0.1", "localhost"))
			cert, err := os.ReadFile(shared + "/cert")
			require.NoError(t, err)
			key, err := os.ReadFile(shared + "/key")
			require.NoError(t, err)
			require.Len(t, replicas, 3)
			for _, r := range replicas {
				r.dir = shortDir(t)
				r.shown = map[int]int{}
				for _, p := range r.ct.ports {
					r.shown[p] = freePort(t)
				}
				r.start(t, dsn, string(cert), string(key))
			}
			for _, r := range replicas {
				for _, p := range r.ct.probes {
					assert.Eventually(t, func() bool {
						status, err := r.probe(p)
						return err == nil && status == http.StatusOK
					}, time.Minute, 50*time.Millisecond, "%+v", p)
				}
			}
			at := replicas[0].ct.args[slices.Index(replicas[0].ct.args, "--socket")+1]
			c := client.New(replicas[0].moved(at), nil)
			assert.Eventually(t, func() bool {
				nodes, err := c.Nodes(t.Context())
				silent := slices.ContainsFunc(nodes, func(n wire.Node) bool { return !n.Alive || n.Turns == nil })
				return err == nil && len(nodes) == 3 && !silent
			}, time.Minute, 50*time.Millisecond, "the daemons answer each other")
			for _, r := range replicas {
				require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
			}
			for _, r := range replicas {
				assert.NoError(t, r.cmd.Wait(), "%s", &r.out)
			}
		})
	}
}
