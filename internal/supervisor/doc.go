// Package supervisor starts commands through a small process, the supervisor, so that
// no command outlives the program.
//
//	s := supervisor.New()
//	defer s.Close()
//	p, err := s.Start(supervisor.Command{Path: "/bin/sh", Args: []string{"sh", "-c", "make"}, Dir: dir})
//	…
//	<-p.Done()
//
// The supervisor is the same program, started a second time. The init function of this
// package takes over before main. So the program needs no code for it, and its main does
// not run there. Importing the package is enough, also in a test binary.
//
// The supervisor starts without environment, terminal and descriptors, except one end of
// a socket. When the program dies, in any way, the kernel closes the other end. Then the
// supervisor kills all commands and their descendants. On Linux it is a child subreaper:
// it also finds processes that left the process group or were forked twice.
//
// Each command leads a session of its own, so it has no controlling terminal and
// its process group can be killed as a whole. When a command ends, the rest of its
// group is killed. A process that left the group lives until the program ends.
//
// A command runs as the same user as the supervisor, and could kill or stop it. The
// program detects both: it kills the known groups, and starts a new supervisor for the
// next command.
//
// Outside Unix there is no supervisor: commands are children of the program.
package supervisor
