//go:build unix

package supervisor

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/grapnel-go/grapnel/internal/jail"
	"github.com/grapnel-go/grapnel/internal/supervisor/internal/child"
)

// helper is the program's side of one running supervisor process.
type helper struct {
	cmd  *exec.Cmd
	conn *net.UnixConn
	// patience limits the wait for an answer.
	patience time.Duration
	// ended is closed when the process has ended and all its commands are marked.
	ended chan struct{}

	writing sync.Mutex // one message at a time; never held with mu

	mu   sync.Mutex // guards what follows
	next uint64
	// jobs are the commands that were asked for and have not ended.
	jobs map[uint64]*job
}

type job struct {
	Process
	started chan struct{} // closed with the reply to the start
	err     error         // of the start; written before started is closed
	timer   *time.Timer   // runs from a signal to its reply
	jail    *jail.Spec
}

// startHelper starts the supervisor: this program under another name, with one end of a
// socket.
func startHelper(patience time.Duration) (*helper, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(pair[0])
	syscall.CloseOnExec(pair[1])
	ours, theirs := os.NewFile(uintptr(pair[0]), "commands"), os.NewFile(uintptr(pair[1]), child.Name)
	defer ours.Close() // conn has a descriptor of its own
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	self, err := child.Program()
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: self, Args: []string{child.Name}, Env: []string{}, Dir: "/",
		ExtraFiles: []*os.File{theirs}, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	h := &helper{cmd: cmd, conn: conn.(*net.UnixConn), patience: patience, ended: make(chan struct{}), jobs: map[uint64]*job{}}
	go h.read()
	return h, nil
}

func (h *helper) gone() bool {
	select {
	case <-h.ended:
		return true
	default:
		return false
	}
}

func (h *helper) start(c Command) (*Process, error) {
	fds, null, err := c.files()
	if err != nil {
		return nil, err
	}
	defer null.Close() // Close of a nil file does nothing
	j := &job{Process: Process{ended: make(chan struct{})}, started: make(chan struct{}), jail: c.Jail}
	h.mu.Lock()
	h.next++
	id := h.next
	j.signal = func(force bool) { h.signal(id, j, force) }
	h.jobs[id] = j
	h.mu.Unlock()
	r := child.Request{Op: "start", ID: id, Path: []byte(c.Path), Args: child.Bytes(c.Args), Env: child.Bytes(c.Env), Dir: []byte(c.Dir)}
	var in *entry
	if c.Jail != nil {
		if in, err = newEntry(c); err == nil {
			r = child.Request{Op: "start", ID: id, Jail: true, Namespaces: c.Jail.Namespaces, Cgroup: c.Cgroup > 0}
			if fds = append(fds, in.files()...); c.Cgroup > 0 {
				fds = append(fds, c.Cgroup)
			}
		}
	}
	if err == nil {
		err = h.send(r, fds...)
	}
	in.sent()
	defer in.close()
	if err != nil {
		h.forget(id)
		return nil, err
	}
	timer := time.NewTimer(h.patience)
	defer timer.Stop()
	select {
	case <-j.started:
		if j.err != nil {
			return nil, j.err
		}
		return in.entered(&j.Process)
	case <-timer.C:
		_ = h.cmd.Process.Kill()
		return nil, errStuck
	case <-h.ended:
		return nil, errors.New("the supervisor of commands ended; try again")
	}
}

// signal asks the supervisor to signal the command's group. It kills a supervisor that does
// not answer; then read kills the group.
func (h *helper) signal(id uint64, j *job, force bool) {
	op := "terminate"
	if force {
		op = "kill"
	}
	h.mu.Lock()
	if h.jobs[id] != j { // the command has ended
		h.mu.Unlock()
		return
	}
	if j.timer == nil {
		j.timer = time.AfterFunc(h.patience, func() { _ = h.cmd.Process.Kill() })
	}
	h.mu.Unlock()
	if h.send(child.Request{Op: op, ID: id}) != nil {
		_ = h.cmd.Process.Kill()
	}
}

func (h *helper) send(r child.Request, fds ...int) error {
	message, err := child.Encode(r)
	if err != nil {
		return err
	}
	var rights []byte
	if len(fds) > 0 {
		rights = syscall.UnixRights(fds...)
	}
	h.writing.Lock()
	defer h.writing.Unlock()
	_ = h.conn.SetWriteDeadline(time.Now().Add(h.patience))
	// The descriptors go with the header, which the supervisor reads by itself.
	if _, _, err := h.conn.WriteMsgUnix(message[:4], rights, nil); err != nil {
		return fmt.Errorf("ask the supervisor of commands: %w", err)
	}
	if _, err := h.conn.Write(message[4:]); err != nil {
		_ = h.cmd.Process.Kill() // half a message: nothing that follows could be read
		return fmt.Errorf("ask the supervisor of commands: %w", err)
	}
	return nil
}

// read takes the replies until the supervisor ends, and marks what is left as lost.
func (h *helper) read() {
	for {
		var header [4]byte
		var r child.Reply
		if _, err := io.ReadFull(h.conn, header[:]); err != nil {
			break
		}
		if err := child.Decode(header, h.conn, &r); err != nil {
			break
		}
		h.take(r)
	}
	_ = h.cmd.Process.Kill() // a supervisor that closed its socket is of no use
	_ = h.cmd.Wait()         // its exit status does not matter
	_ = h.conn.Close()
	h.lose()
	close(h.ended)
}

func (h *helper) take(r child.Reply) {
	h.mu.Lock()
	defer h.mu.Unlock()
	j := h.jobs[r.ID]
	if j == nil {
		return
	}
	switch r.Op {
	case "started":
		j.pid, j.err = r.Pid, startError(r.Errno)
		if j.err != nil {
			h.endLocked(r.ID, j, Status{Code: -1})
		}
		close(j.started)
	case "sent":
		if j.timer != nil {
			j.timer.Stop()
			j.timer = nil
		}
	case "ended":
		h.endLocked(r.ID, j, Status{Code: r.Code, Signal: r.Signal})
		if j.jail != nil {
			// Another command like this one may follow. If the supervisor has gone, that one shows it.
			go func() { _ = h.send(child.Request{Op: "prepare", Namespaces: j.jail.Namespaces}) }()
		}
	}
}

func (h *helper) endLocked(id uint64, j *job, s Status) {
	delete(h.jobs, id)
	if j.timer != nil {
		j.timer.Stop()
	}
	j.status = s
	close(j.ended)
}

// lose kills the groups of the commands whose supervisor has died.
func (h *helper) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, j := range h.jobs {
		if j.pid > 0 {
			_ = syscall.Kill(-j.pid, syscall.SIGKILL)
		}
		h.endLocked(id, j, Status{Code: -1, Lost: true})
	}
}

func (h *helper) forget(id uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.jobs, id)
}

// close ends the supervisor by closing the socket, as the program's death would.
func (h *helper) close() error {
	_ = h.conn.CloseWrite()
	select {
	case <-h.ended:
		return nil
	case <-time.After(child.CloseTime):
	}
	_ = h.cmd.Process.Kill()
	<-h.ended
	return fmt.Errorf("the supervisor of commands did not end within %v and was killed", child.CloseTime)
}
