package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds every wait for another end, which is on this machine.
const patience = 3 * time.Second

// sendTo connects by a network and sends a text.
func sendTo(network string) func(io.Writer, []string) error {
	return func(_ io.Writer, args []string) error { return send(&net.Dialer{Timeout: patience}, network, args) }
}

func send(d *net.Dialer, network string, args []string) error {
	c, err := d.DialContext(context.Background(), network, args[0])
	if err != nil {
		return err
	}
	_, err = c.Write([]byte(args[1]))
	return errors.Join(err, c.Close())
}

// mptcp makes the socket itself: a dialer would fall back to TCP where MPTCP is refused.
func mptcp(_ io.Writer, args []string) error {
	to, err := net.ResolveTCPAddr("tcp4", args[0])
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
	if err != nil {
		return err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}); err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte(args[1]))
	return err
}

// pairConnect gives one end of a datagram pair another peer: socketpair(2), which many filters leave, is enough to reach a named socket.
func pairConnect(_ io.Writer, args []string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	if err := unix.Connect(pair[0], &unix.SockaddrUnix{Name: args[0]}); err != nil {
		return err
	}
	_, err = unix.Write(pair[0], []byte(args[1]))
	return err
}

// oneSocket makes a socket of a family, type and protocol, as numbers.
func oneSocket(out io.Writer, args []string) error {
	var n [3]int
	for i := range n {
		v, err := strconv.Atoi(args[i])
		if err != nil {
			return err
		}
		n[i] = v
	}
	fd, err := unix.Socket(n[0], n[1], n[2])
	if err != nil {
		return err
	}
	return errors.Join(reached(out, "socket "+strings.Join(args[:3], " ")), unix.Close(fd))
}

// families tries every family but IPv4 and IPv6 with every type of socket.
func families(out io.Writer, _ []string) error {
	var last error = unix.EAFNOSUPPORT
	for family := range unix.AF_MAX {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
			if family == unix.AF_INET || family == unix.AF_INET6 {
				continue
			}
			fd, err := unix.Socket(family, kind, 0)
			if err != nil {
				continue
			}
			last = errors.Join(reached(out, fmt.Sprintf("family %d", family)), unix.Close(fd))
		}
	}
	return last
}

// links asks the kernel over netlink for the network interfaces.
func links(out io.Writer, _ []string) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	// A header of 16 bytes (RTM_GETLINK, request and dump) and an empty ifinfomsg.
	request := make([]byte, 32)
	request[0], request[4], request[6], request[7] = 32, unix.RTM_GETLINK, 0x01, 0x03
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 16<<10)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil || n < 32 {
		return errors.Join(err, errors.New("no answer"))
	}
	return reached(out, "netlink")
}

// descriptors uses what this process was given besides its three streams: it prints files, makes a file of this name in directories, and
// sends the name over sockets.
func descriptors(out io.Writer, args []string) error {
	for fd := 3; fd < 256; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil {
			continue
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			buf := make([]byte, 64<<10)
			n, _ := unix.Pread(fd, buf, 0)
			_, _ = out.Write(buf[:max(n, 0)])
		case unix.S_IFDIR:
			if made, err := unix.Openat(fd, args[0], unix.O_CREAT|unix.O_WRONLY, 0o600); err == nil {
				_ = unix.Close(made)
			}
		case unix.S_IFSOCK:
			_ = unix.Sendto(fd, []byte(args[0]), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, nil)
		}
	}
	return nil
}

// readAll prints the regular files of these paths, without waiting for what a pipe may bring.
func readAll(out io.Writer, args []string) error {
	var problems []error
	for _, path := range args {
		f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			_, err := io.Copy(out, io.LimitReader(f, 1<<20))
			problems = append(problems, err)
		}
		_ = f.Close()
	}
	return errors.Join(problems...)
}
