// Package powercut simulates a power failure for SQLite files. It is for tests.
//
// [Record] records the operations between SQLite and the file system, in order: writes,
// truncations, syncs, and names made and deleted. They form a [Trace]. A [Disk] plays a
// trace up to any operation, and returns files that the disk may have if the power fails
// there: all synced data, and any combination of the rest, with torn writes. A test opens
// these files with the program under test, and checks for all acknowledged data.
//
// The recorder sees the files of one directory, for all connections of the process. It does
// not see operations without SQLite, only that a file exists; see [Record].
package powercut
