// Package snapshot keeps the state of a directory (a project) outside itself and puts it back. It knows no agents and no turns: its
// caller takes a snapshot before and one after something changes the project, and may have the difference undone later.
//
//	s, err := snapshot.Open(project, store, nil)
//	before, _, err := s.Take(ctx)
//	…                                  // commands change the project
//	after, _, err := s.Take(ctx)
//	now, _, err := s.Take(ctx)         // when somebody wants it undone
//	result, err := s.Restore(ctx, now, snapshot.Pair{Before: before, After: after})
//
// A path goes back to its state in Before only if it still is as it was in After. What somebody else changed since is a [Conflict]:
// it is reported and left alone.
//
// The store has files of its own, by SHA-256, and a list of entries for each snapshot; the newest list is also the index (size, times
// and inode of each file), so that a later snapshot reads only files that changed. A shadow git directory was the alternative. It needs
// a git program, it cannot keep .git, empty directories and modes, it has to be defended against attributes, filters and settings of the
// project, and it starts a process; the files here need none of this, and are as fast.
//
// Kept are files, symbolic links (never followed), directories, also empty ones, and their modes. Not kept are owners, times, extended
// attributes and hard links between files. Restored files get the present time, so that build tools see the change. [Report] names what
// is left out: files, ignored contents and copied git objects over their limits ([Options]), sockets, pipes and devices, other mounts,
// and what cannot be read. What is left out is never changed or removed by Restore.
//
// Git objects (.git/objects) are shared with the project by hard link where the file system allows, because git never rewrites them.
// A command that writes into one all the same damages both; Restore reports such an object. Restore puts objects back but removes none
// that came later, so that no later commit of somebody else loses its objects. All other files are copied, as a reflink where the file
// system has them: a hard link would follow each write in place.
//
// Nothing of the project is executed. Every access goes through [os.Root] or a descriptor, one directory at a time, so that a link
// swapped in leads nowhere. A file appears in store and project under its name only when it is complete. After a loss of power a
// file of the store may be damaged; its checksum shows that.
//
// Only one process at a time works on a store: each operation takes a file lock, after the mutex of its Store.
package snapshot
