package main

import (
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// int80 makes a system call of the 32-bit ABI, whose numbers are others.
//
//go:noescape
func int80(number, a, b, c uint32) int32

// socket32 is socket(2) in the table of i386.
const socket32 = 359

// oldABI makes a unix socket through the 32-bit ABI and connects it through the usual one.
func oldABI(_ io.Writer, args []string) error {
	fd := int80(socket32, unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if fd < 0 {
		return fmt.Errorf("socket by int 0x80: %w", unix.Errno(-fd))
	}
	if err := unix.Connect(int(fd), &unix.SockaddrUnix{Name: args[0]}); err != nil {
		return err
	}
	_, err := unix.Write(int(fd), []byte(args[1]))
	return err
}

// x32 makes a socket through the x32 ABI, whose numbers have bit 30.
func x32(_ io.Writer, args []string) error {
	const bit = 0x40000000
	fd, _, errno := unix.RawSyscall(unix.SYS_SOCKET|bit, unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if errno != 0 {
		return errno
	}
	if err := unix.Connect(int(fd), &unix.SockaddrUnix{Name: args[0]}); err != nil {
		return err
	}
	_, err := unix.Write(int(fd), []byte(args[1]))
	return err
}
