//go:build unix

package child

import (
	"io"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
)

// init turns this process into a supervisor, or into the first process of a jail, if it was started as one. It is an init
// function because these must not run the main function of the embedding program.
func init() {
	if len(os.Args) == 1 && os.Args[0] == jailName {
		os.Exit(enterJail())
	}
	if len(os.Args) != 1 || os.Args[0] != Name {
		return
	}
	if _, err := syscall.Getpeername(socketFD); err != nil {
		_, _ = os.Stderr.WriteString(Name + ": this name is reserved for the supervisor of commands, which the program starts itself\n")
		os.Exit(2)
	}
	os.Exit(supervise())
}

// child is the supervisor's own state, in its process.
type child struct {
	writing sync.Mutex // one reply at a time

	mu sync.Mutex // guards the fields below, and lets no command end before it is registered
	// leaders maps the processes of commands to the ids of the commands.
	leaders map[int]uint64
	pids    map[uint64]int

	// jail is the process that waits for the next command with a jail. The goroutine that serves requests alone uses it.
	jail spare

	// wake tells the reaper that there is a child to wait for.
	wake chan struct{}
}

// supervise serves requests until the program closes the socket or dies, and then
// kills everything. Its result is the exit code.
func supervise() int {
	syscall.CloseOnExec(socketFD)
	closeInherited()
	adoptOrphans()
	// The program decides when the commands end, not these signals. Commands do not inherit
	// a handler, but would inherit an ignored signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	c := &child{leaders: map[int]uint64{}, pids: map[uint64]int{}, wake: make(chan struct{}, 1)}
	go c.reap()
	for {
		r, files, err := receive()
		if err != nil {
			c.killAll()
			return 0
		}
		switch r.Op {
		case "start":
			c.start(r, files)
		case "prepare":
			c.jail.prepare(r.Namespaces)
		case "terminate":
			c.signal(r.ID, syscall.SIGTERM)
		case "kill":
			c.signal(r.ID, syscall.SIGKILL)
		}
		for _, fd := range files {
			_ = syscall.Close(fd)
		}
	}
}

// closeInherited closes the descriptors that the program inherited from its parent and
// passed on: a command could open them again through /proc. The runtime's own descriptors
// are close-on-exec, and not among them.
func closeInherited() {
	for _, dir := range []string{"/proc/self/fd", "/dev/fd"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			fd, err := strconv.Atoi(e.Name())
			if err == nil && fd > socketFD && !closesOnExec(fd) {
				_ = syscall.Close(fd)
			}
		}
		return
	}
}

// receive reads one request with its files. An error means that the program has died, or
// that its message is not valid.
func receive() (r Request, files []int, err error) {
	var header [4]byte
	rights := make([]byte, syscall.CmsgSpace(maxFiles*4))
	n, oobn, err := recvmsg(header[:], rights)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return r, nil, err
	}
	if messages, err := syscall.ParseSocketControlMessage(rights[:oobn]); err == nil {
		for _, m := range messages {
			fds, err := syscall.ParseUnixRights(&m)
			if err == nil {
				files = append(files, fds...)
			}
		}
	}
	for _, fd := range files {
		syscall.CloseOnExec(fd)
	}
	if _, err := io.ReadFull(socket{}, header[n:]); err != nil {
		return r, files, err
	}
	return r, files, Decode(header, socket{}, &r)
}

// recvmsg reads bytes and descriptors. A signal interrupts it at most for a moment.
func recvmsg(b, oob []byte) (n, oobn int, err error) {
	for {
		n, oobn, _, _, err = syscall.Recvmsg(socketFD, b, oob, 0)
		if err != syscall.EINTR {
			return n, oobn, err
		}
	}
}

// socket reads and writes the socket with blocking calls.
type socket struct{}

func (socket) Read(b []byte) (int, error) {
	for {
		n, err := syscall.Read(socketFD, b)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (socket) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := syscall.Write(socketFD, b[done:])
		if err != nil && err != syscall.EINTR {
			return done, err
		}
		done += max(n, 0)
	}
	return done, nil
}

// reply writes a reply. It ignores errors: if the program has died, receive finds out.
func (c *child) reply(r Reply) {
	message, err := Encode(r)
	if err != nil {
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, _ = socket{}.Write(message)
}

// filesOf returns how many files come with a start.
func filesOf(r Request) int {
	switch {
	case r.Cgroup && r.Jail:
		return maxFiles
	case r.Jail:
		return jailFiles
	}
	return 3
}

// start starts a command as the leader of a session, with its three files and
// nothing else. A command with a jail gets the process that waits for one.
func (c *child) start(r Request, files []int) {
	if len(files) != filesOf(r) {
		c.reply(Reply{Op: "started", ID: r.ID, Errno: int(syscall.EBADF)})
		return
	}
	var pid int
	var err error
	c.mu.Lock()
	if r.Jail {
		pid, err = c.jail.enter(r, files)
	} else {
		attr := &syscall.ProcAttr{Dir: string(r.Dir), Env: texts(r.Env), Sys: &syscall.SysProcAttr{Setsid: true}}
		for _, fd := range files {
			attr.Files = append(attr.Files, uintptr(fd))
		}
		pid, err = syscall.ForkExec(string(r.Path), texts(r.Args), attr)
	}
	if err == nil {
		c.leaders[pid], c.pids[r.ID] = r.ID, pid
		// Reply before the reaper can report its end.
		c.reply(Reply{Op: "started", ID: r.ID, Pid: pid})
	}
	c.mu.Unlock()
	if err != nil {
		c.reply(Reply{Op: "started", ID: r.ID, Errno: errnoOf(err)})
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// signal signals the group of a command. The command is not reaped yet, so its id is valid.
func (c *child) signal(id uint64, s syscall.Signal) {
	c.mu.Lock()
	if pid := c.pids[id]; pid > 0 {
		_ = syscall.Kill(-pid, s)
	}
	c.mu.Unlock()
	c.reply(Reply{Op: "sent", ID: id})
}

// reap reaps commands and orphans as they end.
func (c *child) reap() {
	for {
		pid, status := awaitChild()
		if pid <= 0 {
			<-c.wake
			continue
		}
		c.bury(pid, status)
	}
}

// bury kills the rest of the command's group, reaps the command and reports its end. It
// only reaps an orphan.
func (c *child) bury(pid int, status syscall.WaitStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, leads := c.leaders[pid]
	if leads {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
	status = reaped(pid, status)
	if !leads {
		return
	}
	delete(c.leaders, pid)
	delete(c.pids, id)
	r := Reply{Op: "ended", ID: id, Code: status.ExitStatus()}
	if status.Signaled() {
		r.Code, r.Signal = -1, int(status.Signal())
	}
	c.reply(r)
}
