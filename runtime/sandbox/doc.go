// Package sandbox starts processes that can change one project and little else, as the kernel enforces it.
//
//	s, err := sandbox.New(sandbox.Options{Project: "/home/me/project", State: "/home/me/.local/state/mine"})
//	…
//	defer s.Close()
//	p, err := s.Start(ctx, sandbox.Command{Path: "/bin/sh", Args: []string{"sh", "-c", "make"}}, sandbox.Grant{})
//
// A process sees the project, the system's programs and tools read-only, a /tmp of its own and a home directory that has nothing but
// tools and caches. It has no network, no keys, no sockets of others, and it cannot see other processes. What it may do beyond that
// is its [Grant]. Files of the project that run code outside later, such as hooks of git, are read-only too, and what appears at
// such a place is moved away when the process has ended.
//
// How much of that the kernel allows is found out by trying: see [Level]. A process never runs with less than its level says, and
// Start never takes a lower level by itself.
//
// The process that makes the sandbox is this program, started again. Importing the package is all that a program does for it.
package sandbox
