package ostools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/sandbox"
)

const (
	defaultTimeout = 30 * time.Second
	maxTimeout     = 10 * time.Minute
	// keptHead and keptTail are the bytes kept of the beginning and end of each output.
	keptHead = 8 << 10
	keptTail = 24 << 10
)

// BashInput are the arguments of bash.
type BashInput struct {
	// The command, in the language of the shell; it may have several lines.
	Command string `json:"command" hook:"minlen=1"`
	// What the command does, in five to ten words, for the person who may be asked.
	Description string `json:"description,omitzero"`
	// Milliseconds after which the command is killed: at most 600000; without it, 30000.
	Timeout int `json:"timeout,omitzero" hook:"min=0,max=600000"`
	// Environment variables for the command, beside the few that it has anyway.
	Env map[string]string `json:"env,omitzero"`
	// What the command needs beyond its sandbox, each "write PATH", "read PATH", "connect HOST", "unix-sockets", or "outside" for no
	// sandbox at all. A person is asked, so ask only after the command has failed without.
	Needs []string `json:"needs,omitzero" hook:"maxitems=16"`
}

// commandOutput is the answer of bash.
type commandOutput struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
	// Truncated: the middle of an output is missing.
	Truncated bool `json:"truncated,omitzero"`
	TimedOut  bool `json:"timed_out,omitzero"`
	// Sandbox has what the sandbox says: what it refused, and what it moved away.
	Sandbox []string `json:"sandbox,omitempty"`
}

// Bash runs a command in the shell and answers with its output and exit code as
// JSON. It starts in the root. Each call is a new shell: a cd or a variable does
// not last. There is no input and no terminal. An exit code other than 0 is no
// failure of the tool. When the shell ends, everything that it left in the
// background is killed. Of each output the first 8 KB and the last 24 KB are kept.
//
//hook:tool trust=external destructive openworld
func (o *OS) Bash(ctx context.Context, env *hook.Env, in BashInput) (message.ToolResult, error) {
	grant, err := o.granted(env.Grant, in)
	if err != nil {
		return message.ToolResult{}, err
	}
	if ctx.Err() != nil {
		return message.ToolResult{}, ctx.Err() // no command was started
	}
	limit := timeLimit(env.Grant, in)
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	cmd := sandbox.Command{Path: o.shell, Args: []string{o.shell, "-c", in.Command}}
	for name, value := range in.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	head, tail := window(env.Grant)
	stdout, stderr := newCapture(head, tail), newCapture(head, tail)
	end, ended, err := o.run(timed, cmd, grant, stdout, stderr)
	if err != nil {
		return message.ToolResult{}, failf(message.FailOperation, "the command could not be started: %v", err)
	}
	out := commandOutput{
		Stdout: stdout.String(), Stderr: stderr.String(), ExitCode: end.code,
		Truncated: stdout.cut() || stderr.cut(), Sandbox: end.notes,
	}
	if ended {
		return out.result("", "")
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return out.result(message.FailCancelled, "The call was cancelled and the command killed; this is what it had printed.")
	}
	out.TimedOut = true
	text := fmt.Sprintf("The command took longer than %v and was killed; this is what it had printed.", limit)
	if ctx.Err() != nil {
		text = "The time for this call ran out and the command was killed; this is what it had printed."
	}
	return out.result(message.FailTimeout, text)
}

// granted returns what the sandbox lets a call do. It refuses commands that cannot run, and calls whose grant cannot be enforced:
// without a sandbox a shell can always write, use the network and leave its directory.
func (o *OS) granted(grant hook.Grant, in BashInput) (sandbox.Grant, error) {
	limited := grant.ReadOnly || grant.NoNetwork || grant.Root != ""
	switch {
	case o.shell == "":
		return sandbox.Grant{}, failf(message.FailOperation, "there is no shell on this machine")
	case grant.Void:
		return sandbox.Grant{}, failf(message.FailDenied, "this call is limited (%s), so there is nothing that it may do", grant)
	case limited && (o.sandbox == nil || !o.sandbox.Enforces()):
		return sandbox.Grant{}, failf(message.FailDenied, "this call is limited (%s), and a command cannot be kept to that here", grant)
	case strings.ContainsRune(in.Command, 0):
		return sandbox.Grant{}, failf(message.FailArguments, "the command has a NUL byte in it")
	}
	for name, value := range in.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return sandbox.Grant{}, failf(message.FailArguments, "env: %q is no variable", name)
		}
	}
	out := sandbox.Grant{ReadOnly: grant.ReadOnly, Below: grant.Root}
	if o.sandbox == nil {
		return out, nil
	}
	for _, need := range in.Needs {
		r, err := o.sandbox.ParseRequest(need)
		if err != nil {
			return sandbox.Grant{}, failf(message.FailArguments, "needs: %v", err)
		}
		if limited && r.Exceeds(out, grant.NoNetwork) {
			return sandbox.Grant{}, failf(message.FailDenied, "this call is limited (%s), so it cannot %s", grant, o.sandbox.Sentence(r))
		}
		out = out.With(r)
	}
	return out, nil
}

func timeLimit(grant hook.Grant, in BashInput) time.Duration {
	limit := time.Duration(in.Timeout) * time.Millisecond
	if limit <= 0 {
		limit = defaultTimeout
	}
	limit = min(limit, maxTimeout)
	if grant.Timeout > 0 {
		limit = min(limit, grant.Timeout)
	}
	return limit
}

// window returns how much of each output to keep, within the bytes that a grant allows.
func window(grant hook.Grant) (head, tail int) {
	if m := grant.MaxOutput; m > 0 && m/2 < keptHead+keptTail {
		return m / 8, m/2 - m/8
	}
	return keptHead, keptTail
}

func (c commandOutput) result(failure message.FailureKind, text string) (message.ToolResult, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // output full of \u003c is hard to read
	if err := enc.Encode(c); err != nil {
		return message.ToolResult{}, err
	}
	r := message.JSONResult(message.JSON(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))))
	if failure != "" {
		r.Content = message.ListOf(message.TextBlock(text), r.Content.At(0))
	}
	r.Failure, r.Trust = failure, message.TrustExternal // what a command prints may be from anywhere
	return r, nil
}

// inherited returns the variables that commands inherit: those that a shell needs, without
// secrets.
func inherited(environ []string) []string {
	allowed := []string{"PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR", "SHELL", "TZ"}
	var out []string
	for _, kv := range environ {
		name, _, ok := strings.Cut(kv, "=")
		if ok && (slices.Contains(allowed, name) || strings.HasPrefix(name, "LC_")) {
			out = append(out, kv)
		}
	}
	return out
}
