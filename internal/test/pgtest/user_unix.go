//go:build unix

package pgtest

import (
	"os"
	"syscall"
)

// nobody runs the server where the tests run as root, because PostgreSQL refuses root.
const nobody = 65534

// attributes are those of every process of a cluster: in a session of its own, so that a signal
// to the group of the tests ends the watcher after them and not before.
func attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 {
		a.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	return a
}

// own gives a file to the user of the server.
func own(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chown(path, nobody, nobody)
}
