package limits

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// watches: there is a watcher here.
const watches = true

const (
	// interval is the time between two looks; near, that near a limit; exact, that between two exact sums that are far below it.
	interval = 200 * time.Millisecond
	near     = 50 * time.Millisecond
	exact    = time.Second
)

// Watch looks at a process and all that it has started until ctx ends, or the process is gone. At the first limit that they have reached
// together it calls kill, once, with a sentence for a person, and returns. Processes whose parent has ended must stay below the first one:
// it is process 1 of a namespace, or a subreaper.
//
// With 50 processes it takes less than a hundredth of a core.
func Watch(ctx context.Context, pid int, l Limits, kill func(why string)) {
	if l.Memory <= 0 && l.Processes <= 0 {
		return
	}
	w := newWatcher("/proc", l)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		why, ok := w.look(pid, time.Now())
		if !ok {
			return
		}
		if why != "" {
			kill(why)
			return
		}
		timer.Reset(w.pause())
	}
}

// watcher sums a tree of processes up. It is for one goroutine.
type watcher struct {
	proc   string
	limits Limits
	page   int64
	// scan: the kernel does not list the children of a process; all processes are read for their parents.
	scan bool

	buf      []byte
	tree     []int
	seen     map[int]bool
	threads  int
	resident int64
	// exactAt is when the next exact sum may be made; zero before the first.
	exactAt time.Time
}

func newWatcher(proc string, l Limits) *watcher {
	w := &watcher{proc: proc, limits: l, page: int64(os.Getpagesize()), buf: make([]byte, 32<<10), seen: map[int]bool{}}
	own := strconv.Itoa(os.Getpid())
	_, err := readInto(filepath.Join("/proc", own, "task", own, "children"), w.buf[:1])
	w.scan = err != nil
	return w
}

// look reads the tree below a process. It returns which limit was reached, and false if the process is gone.
func (w *watcher) look(pid int, now time.Time) (why string, ok bool) {
	if !w.walk(pid) {
		return "", false
	}
	switch l := w.limits; {
	case l.Processes > 0 && len(w.tree) > l.Processes:
		return l.overProcesses(), true
	case l.Processes > 0 && w.threads > l.threads():
		return l.overThreads(), true
	case l.Memory > 0 && w.resident > l.Memory && !now.Before(w.exactAt):
		// This sum counts what processes share once for each, such as libraries and what a fork has not changed.
		used := w.shares()
		if used > l.Memory {
			return l.overMemory(used), true
		}
		w.exactAt = now.Add(interval)
		if used < l.Memory/2 {
			w.exactAt = now.Add(exact)
		}
	}
	return "", true
}

// pause returns the time until the next look.
func (w *watcher) pause() time.Duration {
	if l := w.limits; l.Memory > 0 && w.resident > l.Memory/2 && w.exactAt.IsZero() || l.Processes > 0 && len(w.tree) > l.Processes/2 {
		return near
	}
	return interval
}

// walk lists the tree below a process, with its threads and resident memory. It stops when there are too many processes. It returns false if
// the first one is gone.
func (w *watcher) walk(pid int) bool {
	w.tree, w.threads, w.resident = append(w.tree[:0], pid), 0, 0
	clear(w.seen)
	w.seen[pid] = true
	var below map[int][]int
	if w.scan {
		below = w.parents()
	}
	for i := 0; i < len(w.tree); i++ {
		if w.limits.Processes > 0 && len(w.tree) > w.limits.Processes {
			return true
		}
		at := w.proc + "/" + strconv.Itoa(w.tree[i])
		n, err := readInto(at+"/statm", w.buf)
		if err != nil {
			if i == 0 {
				return false
			}
			continue
		}
		w.resident += number(w.buf[:n], 1) * w.page
		threads := w.numbers(at + "/task")
		w.threads += len(threads)
		for _, child := range below[w.tree[i]] {
			w.add(child)
		}
		for _, tid := range threads {
			if w.scan {
				break
			}
			n, _ := readInto(at+"/task/"+tid+"/children", w.buf)
			for text := range bytes.FieldsSeq(w.buf[:n]) {
				if child, err := strconv.Atoi(string(text)); err == nil {
					w.add(child)
				}
			}
		}
	}
	return true
}

func (w *watcher) add(pid int) {
	if !w.seen[pid] {
		w.seen[pid] = true
		w.tree = append(w.tree, pid)
	}
}

// numbers returns the entries of a directory that are numbers.
func (w *watcher) numbers(dir string) (out []string) {
	fd, err := open(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fd) }()
	var names []string
	for {
		n, err := unix.ReadDirent(fd, w.buf)
		if err != nil || n <= 0 {
			break
		}
		_, _, names = unix.ParseDirent(w.buf[:n], -1, names)
	}
	for _, name := range names {
		if name[0] >= '0' && name[0] <= '9' {
			out = append(out, name)
		}
	}
	return out
}

// parents returns the children of all processes.
func (w *watcher) parents() map[int][]int {
	out := map[int][]int{}
	for _, name := range w.numbers(w.proc) {
		n, err := readInto(w.proc+"/"+name+"/stat", w.buf)
		// "12 (a name) S 1 …": the name may have brackets and spaces.
		end := bytes.LastIndexByte(w.buf[:n], ')')
		pid, bad := strconv.Atoi(name)
		if err != nil || bad != nil || end < 0 {
			continue
		}
		parent := int(number(w.buf[end+1:n], 1))
		out[parent] = append(out[parent], pid)
	}
	return out
}

// shares returns the memory of the tree in which what processes share counts once. The kernel walks all pages for it: some milliseconds
// for each GiB.
func (w *watcher) shares() (used int64) {
	for _, pid := range w.tree {
		at := w.proc + "/" + strconv.Itoa(pid)
		n, err := readInto(at+"/smaps_rollup", w.buf)
		if share, ok := proportional(w.buf[:n]); err == nil && ok {
			used += share
			continue
		}
		if n, err = readInto(at+"/statm", w.buf); err == nil {
			used += max(number(w.buf[:n], 1)-number(w.buf[:n], 2), 0) * w.page
		}
	}
	return used
}

// proportional returns the bytes of "Pss: 123 kB", without those of files, which the kernel can take back.
func proportional(text []byte) (n int64, ok bool) {
	for line := range bytes.Lines(text) {
		switch name, value, _ := bytes.Cut(line, []byte(":")); string(name) {
		case "Pss":
			n, ok = number(value, 0), true
		case "Pss_File":
			n -= number(value, 0)
		}
	}
	return n << 10, ok
}

// number returns a field of a line as a number, 0 if it is none.
func number(line []byte, field int) int64 {
	i := 0
	for text := range bytes.FieldsSeq(line) {
		if i == field {
			n, _ := strconv.ParseInt(string(text), 10, 64)
			return n
		}
		i++
	}
	return 0
}
