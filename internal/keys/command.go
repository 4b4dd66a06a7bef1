package keys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/internal/character"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/supervisor"
)

const (
	// maxStderr bounds what is read of a command's errors, maxReason what is shown, in bytes.
	maxStderr = 16 << 10
	maxReason = 300
	// rest is how long what an ended command has printed may take to be read.
	rest = time.Second
)

// fromCommand returns what the command prints. It runs in the home directory, so that no file
// of a project has a say, and is killed with all that it started when ctx ends.
func (k *Keys) fromCommand(ctx context.Context, argv []string) (string, error) {
	if k.o.Commands == nil {
		return "", errors.New("commands are not run here")
	}
	path, err := k.program(argv[0])
	if err != nil {
		return "", err
	}
	cmd := supervisor.Command{Path: path, Args: argv, Env: k.o.Environ, Dir: k.o.Getenv("HOME")}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	if cmd.Dir == "" {
		cmd.Dir = string(filepath.Separator)
	}
	out, err := k.output(ctx, cmd)
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(out.stdout)
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("it did not end in time and was killed: %w%s", context.Cause(ctx), out.reason(key))
	case out.status != supervisor.Status{}:
		return "", fmt.Errorf("it failed with %s%s", out.status, out.reason(key))
	}
	return out.stdout, nil
}

// program returns the file of a command: an absolute path, or what the user's PATH has.
func (k *Keys) program(name string) (string, error) {
	path, err := k.expanded(name)
	if err != nil {
		return "", err
	}
	if filepath.IsAbs(path) {
		return path, nil
	}
	if strings.ContainsRune(path, filepath.Separator) {
		return "", fmt.Errorf("%s depends on the working directory; write an absolute path, or the name of a program in the PATH", name)
	}
	path, err = exec.LookPath(path)
	if err != nil || !filepath.IsAbs(path) {
		return "", fmt.Errorf("there is no program %s in the PATH", name)
	}
	return path, nil
}

// output is what a command has printed, and how it ended.
type output struct {
	stdout, stderr string
	status         supervisor.Status
}

// reason returns what the command says of itself, without the key, as the end of an error.
func (o output) reason(key string) string {
	text := strings.ToValidUTF8(o.stderr, "\uFFFD")
	for line := range strings.Lines(key) {
		if line = strings.TrimSpace(line); len(line) > 3 {
			text = strings.ReplaceAll(text, line, hidden)
		}
	}
	text = screen.Line(strings.Join(strings.Fields(text), " ")).String()
	if text == "" {
		return ""
	}
	if short, cut := character.Cut(text, maxReason); cut {
		text = short + "…"
	}
	return ": " + text
}

// output runs the command. When ctx ends it kills the command and returns what came before.
func (k *Keys) output(ctx context.Context, cmd supervisor.Command) (output, error) {
	outR, outW, err := os.Pipe()
	if err != nil {
		return output{}, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return output{}, errors.Join(err, outR.Close(), outW.Close())
	}
	cmd.Stdout, cmd.Stderr = outW, errW
	p, err := k.o.Commands.Start(cmd)
	_, _ = outW.Close(), errW.Close() // the command has its own
	if err != nil {
		return output{}, errors.Join(err, outR.Close(), errR.Close())
	}
	var stdout, stderr bytes.Buffer
	var reading sync.WaitGroup
	reading.Go(func() { collect(&stdout, outR, maxKey+1) })
	reading.Go(func() { collect(&stderr, errR, maxStderr) })
	select {
	case <-p.Done():
	case <-ctx.Done():
		p.Kill()
		<-p.Done()
	}
	// A process that left the command's group may hold the pipes: it is not waited for.
	end := time.Now().Add(rest)
	_, _ = outR.SetReadDeadline(end), errR.SetReadDeadline(end)
	reading.Wait()
	_, _ = outR.Close(), errR.Close()
	return output{stdout.String(), stderr.String(), p.Status()}, nil
}

// collect keeps the first bytes and drops the rest, so that the command need not wait.
func collect(to *bytes.Buffer, from io.Reader, most int64) {
	_, _ = io.Copy(to, io.LimitReader(from, most))
	_, _ = io.Copy(io.Discard, from) // an error ends it, too
}
