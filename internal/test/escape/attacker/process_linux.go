package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// processes are the attacks on other processes, and those by many or large ones of one's own.
func processes() []attack {
	return []attack{
		{"victim", "PATH", 1, victim},
		{"ptrace", "PID", 1, onStack(tracedMemory)},
		{"vmread", "PID", 1, onStack(processRead)},
		{"memfile", "PID", 1, onStack(memoryFile)},
		{"traceme", "", 0, traceMe},
		{"getfd", "PID", 1, stealDescriptor},
		{"signal", "PID", 1, signalByDescriptor},
		{"limit", "PID", 1, limitOther},
		{"scan", "NAME", 1, scan},
		{"hog", "MEGABYTES PROCESSES MARK", 3, hog},
		{"spawn", "PROCESSES", 1, spawn},
		{"daemon", "MARK", 1, daemon},
		{"sleep", "MARK", 1, sleep},
	}
}

// victim holds a file open as a person's process does, says when it is ready, and waits until its standard input ends.
func victim(out io.Writer, args []string) error {
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return nil
}

// onStack prints what looks like a secret on the stack of another process, where its environment lies, read by a function that fills
// a buffer from an address.
func onStack(read func(pid int, at uintptr, into []byte) error) func(io.Writer, []string) error {
	return func(out io.Writer, args []string) error {
		pid, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		if err != nil {
			return err
		}
		for line := range strings.SplitSeq(string(maps), "\n") {
			var from, to uintptr
			if n, _ := fmt.Sscanf(line, "%x-%x", &from, &to); n != 2 || !strings.HasSuffix(line, "[stack]") {
				continue
			}
			buf := make([]byte, to-from)
			if err := read(pid, from, buf); err != nil {
				return err
			}
			for word := range bytes.SplitSeq(buf, []byte{0}) {
				if bytes.Contains(word, []byte("SECRET")) {
					_, _ = fmt.Fprintf(out, "%s\n", word)
				}
			}
			return nil
		}
		return errors.New("no stack in its map")
	}
}

func tracedMemory(pid int, at uintptr, into []byte) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.PtraceAttach(pid); err != nil {
		return err
	}
	if _, err := unix.Wait4(pid, nil, unix.WALL, nil); err != nil {
		return err
	}
	_, err := unix.PtracePeekData(pid, at, into)
	return errors.Join(err, unix.PtraceDetach(pid))
}

func processRead(pid int, at uintptr, into []byte) error {
	local := []unix.Iovec{{Base: &into[0]}}
	local[0].SetLen(len(into))
	_, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: at, Len: len(into)}}, 0)
	return err
}

func memoryFile(pid int, at uintptr, into []byte) error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return err
	}
	_, err = f.ReadAt(into, int64(at)) //nolint:gosec // an address of user space
	return errors.Join(err, f.Close())
}

// traceMe runs a child that is traced by this process.
func traceMe(out io.Writer, _ []string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &unix.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err := unix.Wait4(cmd.Process.Pid, nil, 0, nil)
	return errors.Join(err, unix.PtraceCont(cmd.Process.Pid, 0), cmd.Wait(), reached(out, "ptrace of a child"))
}

// stealDescriptor prints the files that another process holds open, by pidfd_getfd(2).
func stealDescriptor(out io.Writer, args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	for theirs := 3; theirs < 32; theirs++ {
		fd, e := unix.PidfdGetfd(process, theirs, 0)
		if e != nil {
			err = e
			continue
		}
		buf := make([]byte, 4096)
		n, _ := unix.Pread(fd, buf, 0)
		_, _ = out.Write(buf[:max(n, 0)])
		_ = unix.Close(fd)
	}
	return err
}

func signalByDescriptor(_ io.Writer, args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	return unix.PidfdSendSignal(process, unix.SIGKILL, nil, 0)
}

// limitOther gives another process the limits that it has.
func limitOther(out io.Writer, args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	var old unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &old); err != nil {
		return err
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_CORE, &old, nil); err != nil {
		return err
	}
	return reached(out, "prlimit of another process")
}

// scan finds a process by the exact name of its program, without /proc being listed for it: it tries every number.
func scan(out io.Writer, args []string) error {
	for pid := 1; pid < 1<<22; pid++ {
		if pid > 70000 && pid%64 != 0 { // high numbers only here and there: the scan has an end
			continue
		}
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err == nil && strings.TrimSpace(string(name)) == args[0] {
			return reached(out, "found "+args[0])
		}
	}
	return errors.New("no such process")
}

// hog holds so many megabytes in each of so many processes for a second and a half.
func hog(out io.Writer, args []string) error {
	var n [2]int
	for i := range n {
		v, err := strconv.Atoi(args[i])
		if err != nil {
			return err
		}
		n[i] = v
	}
	var children []*exec.Cmd
	for range n[1] - 1 {
		cmd := exec.Command("/proc/self/exe", "hog", args[0], "1", args[2])
		if err := cmd.Start(); err != nil {
			return err
		}
		children = append(children, cmd)
	}
	held := bytes.Repeat([]byte("memory "), n[0]<<20/len("memory "))
	time.Sleep(1500 * time.Millisecond) // long enough for whoever watches from time to time
	runtime.KeepAlive(held)
	var problems []error
	for _, cmd := range children {
		problems = append(problems, cmd.Wait())
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	return reached(out, "held "+args[0]+" "+args[1])
}

// daemon leaves a process that has no parent, session or terminal of ours.
func daemon(_ io.Writer, args []string) error {
	if slices.Contains(args, "again") {
		cmd := exec.Command("/proc/self/exe", "sleep", args[0])
		cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
		return cmd.Start()
	}
	cmd := exec.Command("/proc/self/exe", "daemon", args[0], "again")
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	return cmd.Run()
}

// spawn holds so many sleeping processes for a second.
func spawn(out io.Writer, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	var children []*exec.Cmd
	for range n {
		cmd := exec.Command("sleep", "60")
		if err = cmd.Start(); err != nil {
			break
		}
		children = append(children, cmd)
	}
	time.Sleep(time.Second) // long enough for whoever watches from time to time
	lost := 0
	for _, cmd := range children {
		_ = cmd.Process.Kill()
		if _, e := cmd.Process.Wait(); e != nil {
			lost++
		}
	}
	if err != nil || lost > 0 {
		return fmt.Errorf("%d of %d started, %d were lost: %w", len(children), n, lost, err)
	}
	return reached(out, fmt.Sprintf("%d processes", n))
}

// sleep makes a file named started, and waits for a minute; its mark stands among its arguments.
func sleep(io.Writer, []string) error {
	if err := os.WriteFile("started", nil, 0o600); err != nil {
		return err
	}
	time.Sleep(time.Minute)
	return nil
}
