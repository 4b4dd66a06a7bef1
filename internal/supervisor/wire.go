//go:build unix

package supervisor

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"
)

// name is the supervisor's name in a list of processes. A program that is started under this
// name, without arguments, becomes a supervisor.
const name = "grapnel-supervisor"

// socketFD is the supervisor's end of the socket.
const socketFD = 3

// maxMessage limits a message. Linux allows at most 2 MiB of arguments and environment by
// default, and JSON needs at most six bytes for one.
const maxMessage = 16 << 20

// request is a message of the program. A start also passes files: stdin, stdout, stderr.
type request struct {
	Op   string   `json:"op"` // "start", "terminate" or "kill"
	ID   uint64   `json:"id"`
	Path []byte   `json:"path,omitempty"`
	Args [][]byte `json:"args,omitempty"`
	Env  [][]byte `json:"env,omitempty"`
	Dir  []byte   `json:"dir,omitempty"`
}

// reply is a message of the supervisor: exactly one "started" for a start, one "sent" for a
// terminate or kill, and one "ended" for each command that has started.
type reply struct {
	Op     string `json:"op"`
	ID     uint64 `json:"id"`
	Pid    int    `json:"pid,omitempty"`
	Errno  int    `json:"errno,omitempty"` // of a start that failed
	Code   int    `json:"code,omitempty"`
	Signal int    `json:"signal,omitempty"`
}

// encode returns the message with its length in front.
func encode(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(body) > maxMessage {
		return nil, syscall.E2BIG
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...), nil
}

// decode reads the rest of a message whose first bytes are header.
func decode(header [4]byte, r io.Reader, v any) error {
	size := binary.BigEndian.Uint32(header[:])
	if size > maxMessage {
		return fmt.Errorf("a message of %d bytes", size)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r, body); err != nil {
		return err
	}
	return json.Unmarshal(body, v)
}

// texts and bytes convert between strings and bytes: JSON would change strings that are not
// valid UTF-8.
func texts(in [][]byte) []string {
	out := make([]string, len(in))
	for i, b := range in {
		out[i] = string(b)
	}
	return out
}

func bytesOf(in []string) [][]byte {
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
