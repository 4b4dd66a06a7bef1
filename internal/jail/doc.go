// Package jail puts a process into the confinement that a [Spec] describes. It is the part of the sandbox that runs in the process
// itself, between its start and the start of the command. What a command may do is decided elsewhere, in runtime/sandbox.
//
// The supervisor of commands starts this program once more, in new namespaces if the Spec wants them, and its init function calls
// [Main] as soon as there is a command. In namespaces this process stays, as process 1: it waits for the command, and everything that the command left ends with
// it. Without namespaces the command replaces it.
//
// Main runs before the main function of the program and before most of its packages are initialized, so this package imports only
// the standard library and x/sys.
package jail
