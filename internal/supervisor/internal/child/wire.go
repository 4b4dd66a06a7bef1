//go:build unix

package child

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"
)

// Name is the supervisor's name in a list of processes. A program that is started under this
// name, without arguments, becomes a supervisor.
const Name = "grapnel-supervisor"

// jailName is the name of a command's process until its jail is complete.
const jailName = "grapnel-jail"

// socketFD is the supervisor's end of the socket to the program, and a jail's process's end of that to the supervisor.
const socketFD = 3

// CloseTime is how long the end of a supervisor may take. It first kills all processes,
// and many of them take a while.
const CloseTime = 10 * time.Second

// jailFiles is the number of files of a start with a jail, and maxFiles the largest of any.
const (
	jailFiles = 5
	maxFiles  = 6
)

// MaxMessage limits a message, in bytes. Linux allows at most 2 MiB of arguments and environment by
// default, and JSON needs at most six bytes for one.
const MaxMessage = 16 << 20

// Request is a message of the program. A start also passes files: stdin, stdout, stderr. With a jail these are followed by the
// command, which Path to Dir then do not have, and by the socket for its report. Prepare makes ready for the next start with a jail.
type Request struct {
	Op   string   `json:"op"` // "start", "prepare", "terminate" or "kill"
	ID   uint64   `json:"id"`
	Path []byte   `json:"path,omitempty"`
	Args [][]byte `json:"args,omitempty"`
	Env  [][]byte `json:"env,omitempty"`
	Dir  []byte   `json:"dir,omitempty"`
	// Jail: the process makes a jail and starts the command in it; Namespaces: it gets namespaces of its own. Cgroup: one more file
	// is the directory of the cgroup in which it begins.
	Jail       bool `json:"jail,omitzero"`
	Namespaces bool `json:"namespaces,omitzero"`
	Cgroup     bool `json:"cgroup,omitzero"`
}

// Reply is a message of the supervisor: exactly one "started" for a start, one "sent" for a
// terminate or kill, and one "ended" for each command that has started.
type Reply struct {
	Op     string `json:"op"`
	ID     uint64 `json:"id"`
	Pid    int    `json:"pid,omitempty"`
	Errno  int    `json:"errno,omitempty"` // of a start that failed
	Code   int    `json:"code,omitempty"`
	Signal int    `json:"signal,omitempty"`
}

// Encode returns the message with its length in front.
func Encode(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(body) > MaxMessage {
		return nil, syscall.E2BIG
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...), nil
}

// Decode reads the rest of a message whose first bytes are header.
func Decode(header [4]byte, r io.Reader, v any) error {
	size := binary.BigEndian.Uint32(header[:])
	if size > MaxMessage {
		return fmt.Errorf("a message of %d bytes", size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}

// texts and Bytes convert between strings and bytes: JSON would change strings that are not
// valid UTF-8.
func texts(in [][]byte) []string {
	out := make([]string, len(in))
	for i, b := range in {
		out[i] = string(b)
	}
	return out
}

// Bytes returns the strings as bytes.
func Bytes(in []string) [][]byte {
	out := make([][]byte, len(in))
	for i, s := range in {
		out[i] = []byte(s)
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
