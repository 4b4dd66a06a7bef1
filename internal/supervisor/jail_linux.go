package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/grapnel-go/grapnel/internal/jail"
	"github.com/grapnel-go/grapnel/internal/supervisor/internal/child"
)

// entry is the program's side of a command that enters a jail.
type entry struct {
	command, theirs *os.File
	ours            *net.UnixConn
	// attended: the process of the jail stays while the command runs, and reports.
	attended bool
}

// maxEntry bounds the description of a jail and its command. A project may have thousands of places that are fenced.
const maxEntry = 128 << 20

// newEntry writes the command of a jail into a file in memory and makes the socket of its report.
func newEntry(c Command) (*entry, error) {
	data, err := json.Marshal(jail.Command{Spec: *c.Jail, Path: []byte(c.Path), Args: child.Bytes(c.Args), Env: child.Bytes(c.Env), Dir: []byte(c.Dir)})
	if err != nil {
		return nil, err
	}
	if len(data) > maxEntry {
		return nil, syscall.E2BIG
	}
	fd, err := unix.MemfdCreate("command", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	e := &entry{command: os.NewFile(uintptr(fd), "command"), attended: c.Jail.Namespaces}
	if _, err = e.command.Write(data); err == nil {
		_, err = e.command.Seek(0, 0)
	}
	if err != nil {
		e.sent()
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		e.sent()
		return nil, err
	}
	e.theirs = os.NewFile(uintptr(pair[1]), "report")
	ours := os.NewFile(uintptr(pair[0]), "report")
	defer ours.Close() // conn has a descriptor of its own
	conn, err := net.FileConn(ours)
	if err != nil {
		e.sent()
		return nil, err
	}
	e.ours = conn.(*net.UnixConn)
	return e, nil
}

func (e *entry) files() []int { return []int{int(e.command.Fd()), int(e.theirs.Fd())} }

// sent closes what the process has by now.
func (e *entry) sent() {
	if e != nil {
		_ = e.command.Close()
		_ = e.theirs.Close()
	}
}

func (e *entry) close() {
	if e != nil && e.ours != nil {
		_ = e.ours.Close()
	}
}

// entered waits for the report and returns the process, with its door. A jail that was not made is a *JailError.
func (e *entry) entered(p *Process) (*Process, error) {
	if e == nil {
		return p, nil
	}
	r, door, err := e.report()
	if err == nil && r.Step == "" {
		p.door = door
		return p, nil
	}
	p.Kill()
	switch {
	case err != nil:
		return nil, &JailError{Step: "wait for its process", Err: err}
	case r.Command:
		return nil, syscall.Errno(r.Errno)
	}
	return nil, &JailError{Step: r.Step, Err: syscall.Errno(r.Errno)}
}

// report reads the report. A socket that was closed without one says that the command runs, if no process attends it.
func (e *entry) report() (r jail.Report, door *os.File, err error) {
	_ = e.ours.SetReadDeadline(time.Now().Add(jail.Patience))
	buf, rights := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := e.ours.ReadMsgUnix(buf, rights)
	if errors.Is(err, io.EOF) && !e.attended {
		return r, nil, nil
	}
	if err != nil {
		return r, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:oobn])
	if err != nil {
		return r, nil, err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil || len(fds) != 1 {
			return r, nil, errors.Join(err, fmt.Errorf("%d descriptors", len(fds)))
		}
		unix.CloseOnExec(fds[0])
		door = os.NewFile(uintptr(fds[0]), "door")
	}
	return r, door, json.Unmarshal(buf[:n], &r)
}
