package runtime

import "hash/maphash"

// accepted marks a call id as one of the history's; any other number is the reply
// that it came with, which may have been dropped since.
const accepted = 0

// callIDs are the call ids of a conversation, as hashes: whatever their number, there
// is nothing that the garbage collector has to follow. Two ids with one hash are taken
// for the same, and the second call gets an id that it did not need.
type callIDs struct {
	seed    maphash.Seed
	replies map[uint64]int
}

func (ids *callIDs) set(id string, reply int) {
	if ids.replies == nil {
		ids.seed, ids.replies = maphash.MakeSeed(), map[uint64]int{}
	}
	ids.replies[maphash.String(ids.seed, id)] = reply
}

// reply is the one that the id came with.
func (ids *callIDs) reply(id string) (reply int, known bool) {
	if ids.replies == nil {
		return 0, false
	}
	reply, known = ids.replies[maphash.String(ids.seed, id)]
	return reply, known
}

func (ids *callIDs) len() int { return len(ids.replies) }
