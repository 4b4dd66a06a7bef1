// Package powercut tries what becomes of SQLite files when the power fails. It is
// for tests.
//
// [Record] stands between SQLite and the file system and writes down what is
// written, cut off, synced, made and deleted, in order: a [Trace]. A [Disk] plays
// a trace, up to any operation, and tells what the disk may hold if the power
// fails there: everything that was synced, and of the rest any part in any
// combination, with the last writes torn. A test opens that with the program
// under test and looks for what had been acknowledged.
//
// The recorder sees the files of one directory, of every connection of the
// process. It does not see what a program does to the same files without SQLite,
// except that they are there; see [Record].
package powercut
