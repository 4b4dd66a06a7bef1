// Package escape plays escapes from the sandbox of commands, and ordinary jobs that have to work inside it. The attacker has what a
// model has: one bash command in the project. Whether an escape has reached its goal is looked up outside, when the command has ended.
//
// A [Machine] is prepared once for a user; it makes a [World] for each escape: a project, a home with keys and caches, sockets, a process
// of the user. Whoever has a sandbox gives [Machine.Play] a [Runner]. The tests here play everything with a runner that confines nothing:
// an escape that does not work there proves nothing. See testdata/README.md.
package escape
