package jail

import (
	"os"
	"path/filepath"
	"time"
)

// Spec is a confinement. It is plain data: the supervisor passes it as JSON. The zero value confines nothing.
type Spec struct {
	// Namespaces says that the process is in new user, mount, process, network and IPC namespaces. Mounts, Door and Base need them.
	Namespaces bool `json:"namespaces,omitzero"`
	// Base is an empty directory outside, on which the new root is mounted.
	Base string `json:"base,omitzero"`
	// Mounts make the file system of the process, in this order. What they do not have does not exist for it.
	Mounts []Mount `json:"mounts,omitempty"`
	// Door is a port on 127.0.0.1 of the process: its listener is passed back to the program. 0 is none.
	Door int `json:"door,omitzero"`
	// Write are the paths below which files may be changed, in the file system of the process. Landlock enforces it.
	Write []string `json:"write,omitempty"`
	// Read are the paths below which files may be read and run. Nil is everywhere; Write is not in it by itself.
	Read []string `json:"read,omitempty"`
	// Unlocked switches Landlock off: Write and Read do not count.
	Unlocked bool `json:"unlocked,omitzero"`
	// Filter is a seccomp program, eight bytes for each instruction in the byte order of the machine. Empty is none.
	Filter []byte `json:"filter,omitempty"`
	// Limits are the limits of the process and each of its children.
	Limits []Limit `json:"limits,omitempty"`
}

// Mount is one step in making the file system.
type Mount struct {
	Op Op `json:"op"`
	// Source is a path outside (Bind), the text of a link (Link), or the lower directory (Overlay).
	Source string `json:"source,omitzero"`
	// Within is a directory outside: the Source of a Bind is then relative to it, and no part of it may be a symbolic link. "" is no
	// such limit.
	Within string `json:"within,omitzero"`
	// Target is an absolute path inside. Directories on the way to it are made, but not in what is bound from outside.
	Target string `json:"target"`
	// ReadOnly: nothing below the target can be changed.
	ReadOnly bool `json:"read_only,omitzero"`
	// Upper and Work are the writable directories of an Overlay, outside.
	Upper string `json:"upper,omitzero"`
	Work  string `json:"work,omitzero"`
	// Shared: every user may write to an Empty, as to /tmp; without it, its owner alone.
	Shared bool `json:"shared,omitzero"`
	// Size limits an Empty, in bytes; 0 is what the kernel says, half of the memory.
	Size int64 `json:"size,omitzero"`
	// Optional: if source or target do not exist, the step is left out.
	Optional bool `json:"optional,omitzero"`
	// Number is the number of the file that the target of Again must be, on its file system; 0 is any.
	Number uint64 `json:"number,omitzero"`
}

// OpenWork lets the owner of an Overlay's Work remove it without changing modes first, as rm does. The kernel makes directories with
// mode 0 in it and never looks at the mode again. What cannot be opened stays as it is.
func OpenWork(work string) {
	for _, dir := range []string{"work", "work/incompat", "work/incompat/volatile"} {
		_ = os.Chmod(filepath.Join(work, dir), 0o700)
	}
}

// Op is what a Mount does.
type Op string

// The steps.
const (
	// Bind shows a file or directory from outside, with what is mounted below it.
	Bind Op = "bind"
	// Again mounts a target that exists on itself: read-only, or only as a mount point, which cannot be moved. No part of the target
	// may be a symbolic link; nor of that of Hide.
	Again Op = "again"
	// Hide covers a target that exists by an empty file or directory.
	Hide Op = "hide"
	// Empty is an empty directory in memory.
	Empty Op = "empty"
	// Link is a symbolic link.
	Link Op = "link"
	// Overlay shows Source with a writable layer on it, which is not written to the disk by itself: Work then has a directory "work",
	// which has to be removed before the layer is used again, and the layer with it if the machine has crashed.
	Overlay Op = "overlay"
	// Processes is /proc, with the processes of the namespace.
	Processes Op = "processes"
	// Terminals is /dev/pts, of its own.
	Terminals Op = "terminals"
)

// Limit is a limit of setrlimit.
type Limit struct {
	Resource int    `json:"resource"`
	Max      uint64 `json:"max"`
}

// Report is what Main says before the command starts.
type Report struct {
	// Step is what failed, for people: "mount the project". It is "" if nothing did.
	Step  string `json:"step,omitzero"`
	Errno int    `json:"errno,omitzero"`
	// Command: the command itself could not be started, in a jail that is complete.
	Command bool `json:"command,omitzero"`
}

// Patience bounds the time between the start of the process and its report.
const Patience = 10 * time.Second
