// Package child is what this program does when it is started as the supervisor of commands, or as the first process in a jail: its
// init function takes over, and main does not run. It is a package of its own, with few imports, because a jail is made for each
// command: what is initialized before it is waited for each time.
package child
