package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Command is the command that Main starts, as the Spec's JSON has it beside the confinement.
type Command struct {
	Spec Spec     `json:"spec"`
	Path []byte   `json:"path"`
	Args [][]byte `json:"args"`
	Env  [][]byte `json:"env"`
	Dir  []byte   `json:"dir"`
}

// failure is a step that failed.
type failure struct {
	step    string
	command bool
	err     error
}

func (f *failure) Error() string { return f.step + ": " + f.err.Error() }

// at names the step of an error.
func at(step string, err error) error {
	if err == nil {
		return nil
	}
	return &failure{step: step, err: err}
}

// Main reads a [Command] as JSON from a descriptor, confines this process, reports on another descriptor and runs the command. It first
// enters the cgroup whose directory is open, if that is not -1.
// The result is the exit code of the process. Call it in the init function of a process that does nothing else: all that it does
// to the calling thread holds for the command, which is started from it.
func Main(input, report, cgroup int) int {
	runtime.LockOSThread()
	for _, fd := range []int{input, report, cgroup} {
		unix.CloseOnExec(fd) // of -1 it does nothing
	}
	err := at("enter the cgroup", enterCgroup(cgroup))
	var c *Command
	if err == nil {
		c, err = readCommand(input)
	}
	if err == nil {
		err = c.run(report)
	}
	var f *failure
	if errors.As(err, &f) {
		tell(report, Report{Step: f.step, Errno: errnoOf(f.err), Command: f.command}, -1)
		return 126
	}
	var e exit
	if errors.As(err, &e) {
		return int(e)
	}
	return 126
}

// enterCgroup moves this process into a cgroup.
func enterCgroup(dir int) error {
	if dir < 0 {
		return nil
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, "cgroup.procs", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte("0"))
	return err
}

// exit is the end of the command.
type exit int

func (e exit) Error() string { return fmt.Sprint("exit ", int(e)) }

// Warm reads a command that does nothing. The first reading of a process takes milliseconds, and a process that waits for a command has
// the time.
func Warm() {
	_ = json.Unmarshal([]byte(`{"spec":{"mounts":[{"op":"bind"}],"limits":[{}]},"args":[""]}`), new(Command))
}

func readCommand(fd int) (*Command, error) {
	f := os.NewFile(uintptr(fd), "command")
	data, err := io.ReadAll(f)
	_ = f.Close()
	if err != nil {
		return nil, at("read the command", err)
	}
	c := new(Command)
	return c, at("read the command", json.Unmarshal(data, c))
}

func (c *Command) run(report int) error {
	// The supervisor may end at any time, and this process with it.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return at("end with the supervisor", err)
	}
	door := -1
	if c.Spec.Namespaces {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return at("make the mounts private", err)
		}
		// Nothing that is started may make namespaces of its own, in which it would be root. The filter forbids it as well, so a machine
		// whose settings cannot be written, such as a container, does without.
		_ = os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
		if err := c.Spec.mountAll(); err != nil {
			return err
		}
		var err error
		if door, err = openDoor(c.Spec.Door); err != nil {
			return at("set up the loopback network", err)
		}
	}
	if err := unix.Chdir(string(c.Dir)); err != nil {
		return at("enter the directory "+string(c.Dir), err)
	}
	if err := c.Spec.seal(); err != nil {
		return err
	}
	if !c.Spec.Namespaces {
		err := syscall.Exec(string(c.Path), texts(c.Args), texts(c.Env)) // closes the report, which says that all is well
		return &failure{step: "start " + string(c.Path), command: true, err: err}
	}
	return c.attend(report, door)
}

// attend starts the command and waits for it as process 1, which ends with it.
func (c *Command) attend(report, door int) error {
	// The program decides when the command ends. Process 1 has no default for signals, but the runtime of Go ends at some of them.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	pid, err := syscall.ForkExec(string(c.Path), texts(c.Args), &syscall.ProcAttr{
		Env: texts(c.Env), Files: []uintptr{0, 1, 2},
	})
	if err != nil {
		return &failure{step: "start " + string(c.Path), command: true, err: err}
	}
	tell(report, Report{}, door)
	// Whoever reads the outputs waits for the command, not for this process.
	for fd := range 3 {
		_ = unix.Close(fd)
	}
	for {
		var status unix.WaitStatus
		got, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case err == unix.EINTR || got != pid && err == nil:
		case err != nil:
			return exit(126)
		case status.Signaled():
			return exit(128 + int(status.Signal()))
		default:
			return exit(status.ExitStatus())
		}
	}
}

// tell writes the report, with a descriptor if it is not -1, and closes both.
func tell(fd int, r Report, passed int) {
	data, err := json.Marshal(r)
	if err != nil {
		return
	}
	var rights []byte
	if passed >= 0 {
		rights = unix.UnixRights(passed)
	}
	_ = unix.Sendmsg(fd, data, rights, nil, 0)
	_ = unix.Close(fd)
	if passed >= 0 {
		_ = unix.Close(passed)
	}
}

// openDoor switches the loopback device on and listens at the port, if it is not 0.
func openDoor(port int) (fd int, err error) {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	req, err := unix.NewIfreq("lo")
	if err == nil {
		req.SetUint16(unix.IFF_UP)
		err = unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, req)
	}
	if err == nil && port > 0 {
		err = unix.Bind(s, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
		if err == nil {
			err = unix.Listen(s, 64)
		}
	}
	if err != nil || port == 0 {
		_ = unix.Close(s)
		return -1, err
	}
	return s, nil
}

func texts(in [][]byte) []string {
	out := make([]string, len(in))
	for i, b := range in {
		out[i] = string(b)
	}
	return out
}

func errnoOf(err error) int {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return int(errno)
	}
	return int(syscall.EINVAL)
}
