//go:build !unix

package pgtest

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }

func own(string) error { return nil }
