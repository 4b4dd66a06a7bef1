package wire

// Sandbox is what a command of an agent can change, read and reach.
type Sandbox struct {
	// Level is how much of the sandbox the machine can enforce: full, reduced or none. Why says why it is not full, Remedy has the commands
	// that give the full level, and Open is what the level leaves open.
	Level  string   `json:"level"`
	Why    string   `json:"why,omitzero"`
	Remedy []string `json:"remedy,omitempty"`
	Open   []string `json:"open,omitempty"`
	// Limits says how limits are enforced.
	Limits string `json:"limits"`
	// Layers: caches have a writable layer; otherwise they are read-only.
	Layers  bool   `json:"layers"`
	Mode    string `json:"mode"`
	Project string `json:"project"`
	// Confined: commands run without being asked about. Unasked says why not.
	Confined bool   `json:"confined"`
	Unasked  string `json:"unasked,omitzero"`
	// Writable, Readable and Protected are paths. What is protected stays as it is.
	Writable  []string `json:"writable"`
	Readable  []string `json:"readable"`
	Protected []string `json:"protected"`
	Hosts     []string `json:"hosts"`
	// Variables are the names of those that are set.
	Variables   []string `json:"variables"`
	UnixSockets bool     `json:"unix_sockets"`
}
