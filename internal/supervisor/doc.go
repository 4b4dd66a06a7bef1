// Package supervisor starts commands in a small process of their own, the
// supervisor, so that no command outlives the program that asked for it.
//
//	s := supervisor.New()
//	defer s.Close()
//	p, err := s.Start(supervisor.Command{Path: "/bin/sh", Args: []string{"sh", "-c", "make"}, Dir: dir})
//	…
//	<-p.Done()
//
// The supervisor is this same program, started a second time. Its init function
// takes over before main, so the program needs no code of its own for it, and a
// program that embeds this package never runs its own main there. Importing the
// package is enough, also in the binary of a test.
//
// The supervisor starts without environment, terminal and descriptors. It holds
// one end of a socket; the kernel closes the other one when the program dies, in
// whatever way. The supervisor then kills every command and what the commands
// started. On Linux it is a child subreaper: it also finds processes that left
// the process group or that were forked twice.
//
// Each command leads a session of its own, so it has no controlling terminal and
// its process group can be killed as a whole. When a command ends, the rest of its
// group is killed. A process that left the group lives until the program ends.
//
// A command runs as the same user as the supervisor and could kill or stop it.
// The program notices both: it kills the groups that it knows, and the next
// command gets a new supervisor.
//
// Outside Unix there is no supervisor: commands are children of the program.
package supervisor
