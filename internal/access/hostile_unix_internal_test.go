//go:build unix

package access

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// certificate writes a certificate and its key, and returns their paths.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	made, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	of := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "x"}, DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, of, of, made.Public(), made)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(made)
	require.NoError(t, err)
	cert, key = filepath.Join(t.TempDir(), "c.pem"), filepath.Join(t.TempDir(), "k.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return cert, key
}

// TestACertificateThatIsAPipe: what took its place is not waited for, and the one before stays.
func TestACertificateThatIsAPipe(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	c, err := LoadCertificate(cert, key, func(string) {})
	require.NoError(t, err)
	require.NoError(t, os.Remove(cert))
	require.NoError(t, syscall.Mkfifo(cert, 0o600))
	c.looked = time.Time{} // it is time to look again
	got := make(chan bool, 1)
	go func() { got <- c.Names("localhost") }()
	select {
	case named := <-got:
		assert.True(t, named)
	case <-time.After(time.Minute):
		t.Error("no client gets a certificate, because a pipe has taken its place")
		w, err := os.OpenFile(cert, os.O_WRONLY, 0) // ends the wait
		require.NoError(t, err)
		require.NoError(t, w.Close())
		<-got
	}
}

// withFewFiles is set in a process that listens and may open 256 files.
const withFewFiles = "GRAPNEL_TEST_ACCESS_FEW_FILES"

// TestConnectionsLeaveFiles: who may open few files has bounds on connections, of clients and of nodes, that leave some for everything else.
func TestConnectionsLeaveFiles(t *testing.T) {
	if os.Getenv(withFewFiles) != "" {
		listenWithFewFiles(strings.Split(os.Getenv(withFewFiles), "|"))
	}
	cert, key := certificate(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestConnectionsLeaveFiles$")
	cmd.Env = append(os.Environ(), withFewFiles+"="+cert+"|"+key)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said := bufio.NewReader(out)
	for range 2 {
		address, err := said.ReadString('\n')
		require.NoError(t, err)
		for range 300 {
			conn, err := net.DialTimeout("tcp", strings.TrimSpace(address), 5*time.Second)
			if err != nil {
				break
			}
			t.Cleanup(func() { _ = conn.Close() })
		}
	}
	_, err = fmt.Fprintln(in, "now")
	require.NoError(t, err)
	opened, err := said.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "opened\n", opened)
	require.NoError(t, cmd.Wait())
}

func listenWithFewFiles(files []string) {
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 256, Max: 256}); err != nil {
		panic(err)
	}
	ln, _, err := Listen(context.Background(), "127.0.0.1:0", nil, nil, NewGate(OpenTokens("/nowhere"), "/p", func(string) {}))
	if err != nil {
		panic(err)
	}
	keys, err := LoadNodeKeys(files[0], files[1], files[0], func(string) {})
	if err != nil {
		panic(err)
	}
	between, err := keys.Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	held := make(chan net.Conn, 1000)
	for _, ln := range []net.Listener{ln, between} {
		fmt.Println(ln.Addr())
		go func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					time.Sleep(5 * time.Millisecond) // as net/http does
					continue
				}
				held <- conn
			}
		}()
	}
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		panic(err)
	}
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		// All that have come are accepted after a while; the last look counts.
		if f, err := os.Open(os.DevNull); err == nil {
			_ = f.Close()
			continue
		}
		fmt.Println("no file can be opened")
		os.Exit(0)
	}
	fmt.Println("opened")
	os.Exit(0)
}
