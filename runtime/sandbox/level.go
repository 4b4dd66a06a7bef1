package sandbox

// Level is how much of the sandbox this machine can enforce.
type Level string

// The levels.
const (
	// Full: a process has its own file system, network, processes and users.
	Full Level = "full"
	// Reduced: rules for files and a filter of system calls, without namespaces. Report lists what that leaves open.
	Reduced Level = "reduced"
	// None: nothing can be enforced.
	None Level = "none"
)

// Mode is what processes may do without being asked about.
type Mode string

// The modes.
const (
	// ReadOnly: the project cannot be changed either.
	ReadOnly Mode = "read-only"
	// Project: the project can be changed.
	Project Mode = "project"
	// Unrestricted: there is no sandbox.
	Unrestricted Mode = "unrestricted"
)

// Report is what is known of the machine.
type Report struct {
	Level Level `json:"level"`
	// Why says in one line why the level is not full; "" if it is.
	Why string `json:"why,omitzero"`
	// Remedy are the commands that give the full level, one on each line, with comments.
	Remedy []string `json:"remedy,omitempty"`
	// Open is what the level leaves open, for people.
	Open []string `json:"open,omitempty"`
	// Limits says how limits are enforced.
	Limits string `json:"limits"`
	// Layers: caches have a writable layer; without it they are read-only.
	Layers bool `json:"layers"`
}

// reducedOpen is what the level Reduced cannot forbid or hide.
func reducedOpen() []string {
	return []string{
		"other processes of the user are visible, with their arguments; signals to them are refused from Landlock version 6 on",
		"limits of the user's other processes can be changed, and segments of shared memory that have a number can be attached",
		"names, sizes and times of files outside can be seen, and modes, owners and times of the user's own files can be changed",
		"files in the project that run code outside later (.git/hooks, .git/config, .envrc and others) can be changed where they exist",
		"there is no network at all, not even a loopback: servers and their clients cannot talk, and hosts cannot be admitted by name",
		"/tmp and /dev/shm are not private: they cannot be used, and TMPDIR names a directory of the project's own",
		"a process that leaves its session is ended with the program, not with its command",
	}
}
