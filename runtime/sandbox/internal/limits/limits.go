// Package limits bounds what a process and all that it has started use together: memory, processes, and the size of a file.
//
// [Find] says by which means. Where a cgroup of version 2 is delegated to this process, the kernel enforces a [Group]. Elsewhere there is
// a watcher: [Watch] sums the tree of processes up and asks for it to be killed. It is late by a fifth of a second at most, and it does
// not see memory that no process has mapped, such as files of a tmpfs: give such a file system a size. In both cases [Rlimits] are limits
// of each process by itself.
//
// Memory is no limit of each process (RLIMIT_AS, RLIMIT_DATA): these count what is reserved, not what is used. Each thread reserves its
// whole stack, and the sanitizers of C compilers reserve terabytes. Nor is the number of processes (RLIMIT_NPROC): it counts all processes
// of the user.
package limits

import (
	"fmt"
	"strconv"
)

// Limits are what a process and all that it has started may use. Zero is no limit.
type Limits struct {
	// Memory is in bytes, of all processes together. What they share counts once.
	Memory int64
	// Processes is how many there may be at once. They may have eight times as many threads.
	Processes int
	// FileSize is how many bytes a file may have that one of them writes.
	FileSize int64
}

// threads is how many threads the processes may have together; the kernel's limit of a cgroup counts these.
func (l Limits) threads() int { return 8 * l.Processes }

// Default returns half of the machine's memory, but at least 1 GiB and at most 8 GiB; 512 processes; and files of 4 GiB. A build of a
// large program stays below: it has some processes for each core, and the linker uses a few GiB. A machine stays usable.
func Default() Limits {
	const gib = 1 << 30
	return Limits{Memory: min(max(memory()/2, gib), 8*gib), Processes: 512, FileSize: 4 * gib}
}

// String says what the limits are: "8 GiB of memory, 512 processes, 4 GiB for a file".
func (l Limits) String() string {
	text := ""
	add := func(ok bool, format string, args ...any) {
		if !ok {
			return
		}
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf(format, args...)
	}
	add(l.Memory > 0, "%s of memory", size(l.Memory))
	add(l.Processes > 0, "%d processes", l.Processes)
	add(l.FileSize > 0, "%s for a file", size(l.FileSize))
	if text == "" {
		return "none"
	}
	return text
}

// size writes a number of bytes as a person reads it: "2.1 GiB".
func size(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	text := strconv.FormatFloat(f, 'f', 1, 64)
	if cut := len(text) - len(".0"); text[cut:] == ".0" {
		text = text[:cut]
	}
	return text + " " + units[i]
}

// Rlimit is a limit of setrlimit, for each process by itself.
type Rlimit struct {
	Resource int
	Max      uint64
}

// Means is how limits of all processes together are enforced on this machine. The zero Means is by a watcher, or not at all: see [Watch].
type Means struct {
	// parent is the directory in which groups are made; "" for none.
	parent string
	// why says why there is no cgroup.
	why string
}

// Cgroup reports whether [Means.Group] makes groups.
func (m Means) Cgroup() bool { return m.parent != "" }

// String says which means these are, for a person.
func (m Means) String() string {
	switch {
	case m.Cgroup():
		return "the kernel limits all processes together, by a cgroup"
	case !watches:
		return "none"
	case m.why == "":
		return "a watcher sums all processes up, five times a second"
	}
	return "a watcher sums all processes up, five times a second, because " + m.why
}

// overMemory and the others say in a sentence which limit was reached.
func (l Limits) overMemory(used int64) string {
	return fmt.Sprintf("it used %s of memory; the limit is %s", size(used), size(l.Memory))
}

func (l Limits) overProcesses() string {
	return fmt.Sprintf("it had more than %d processes; that is the limit", l.Processes)
}

func (l Limits) overThreads() string {
	return fmt.Sprintf("it had more than %d threads; that is the limit", l.threads())
}
