package supervisor

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/internal/jail"
)

// ErrClosed is the error of Start after Close.
var ErrClosed = errors.New("the supervisor of commands is closed")

// Command is a command for Start. Path is the program's file, absolute or relative to Dir;
// it is not looked up. Args begins with the name of the program; empty means Path alone.
// Env is the whole environment as NAME=value, nil means none; of two settings of one name
// the last counts. An empty Dir is the working directory of this process. A nil file is the
// null device. Start does not keep the files; the caller closes them.
type Command struct {
	Path                  string
	Args                  []string
	Env                   []string
	Dir                   string
	Stdin, Stdout, Stderr *os.File
	// Jail confines the command, on Linux; Path and Dir are paths in it. Nil does not. Elsewhere it is an error.
	Jail *jail.Spec
	// Cgroup is an opened directory of a cgroup, in which a command with a Jail begins; 0 is that of this process.
	Cgroup int
}

// JailError is the error of Start if the jail could not be made. The command has not run.
type JailError struct {
	// Step is what failed: "mount /proc". Err is the error of the system.
	Step string
	Err  error
}

// Error returns one line.
func (e *JailError) Error() string {
	return "the sandbox could not be made: " + e.Step + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *JailError) Unwrap() error { return e.Err }

// Status is the end of a command. The zero value is exit code 0.
type Status struct {
	// Code is the exit code; -1 if a signal ended the command.
	Code int
	// Signal is the number of the signal that ended the command, 0 for none.
	Signal int
	// Lost: the supervisor ended first. The command's group was killed, and its
	// exit code is unknown.
	Lost bool
}

// String describes the status as os.ProcessState does.
func (s Status) String() string {
	switch {
	case s.Lost:
		return "lost with its supervisor"
	case s.Signal != 0:
		return "signal " + strconv.Itoa(s.Signal) + signalName(s.Signal)
	}
	return "exit status " + strconv.Itoa(s.Code)
}

// Shell returns the exit code that a shell reports: 128 and the number of the
// signal that ended the command.
func (s Status) Shell() int {
	switch {
	case s.Lost:
		return 128 + 9
	case s.Signal != 0:
		return 128 + s.Signal
	}
	return s.Code
}

// Process is a command that was started. It is safe for concurrent use.
type Process struct {
	pid    int
	ended  chan struct{}
	status Status // written before ended is closed
	signal func(force bool)
	door   *os.File
}

// Door returns the listener that the jail's Spec wants, and hands it over: the caller closes it. Nil if there is none.
func (p *Process) Door() *os.File {
	door := p.door
	p.door = nil
	return door
}

// Pid returns the id of the process, which is also that of its group and session.
func (p *Process) Pid() int { return p.pid }

// Done returns a channel that is closed when the command has ended and its group
// was killed.
func (p *Process) Done() <-chan struct{} { return p.ended }

// Status returns how the command ended. Call it after Done is closed.
func (p *Process) Status() Status { return p.status }

// Terminate asks the command's group to end. It does not wait.
func (p *Process) Terminate() { p.signal(false) }

// Kill kills the command's group. It does not wait for the end, which follows soon:
// a supervisor that does not answer is killed as well.
func (p *Process) Kill() { p.signal(true) }

// lastSettings returns the environment with one setting for each name, the last.
func lastSettings(env []string) []string {
	at := make(map[string]int, len(env))
	out := make([]string, 0, len(env))
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if i, ok := at[name]; ok {
			out[i] = kv
			continue
		}
		at[name] = len(out)
		out = append(out, kv)
	}
	return out
}
