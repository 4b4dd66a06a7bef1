package api

import (
	"sync"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// maxKeys is how many conversations' keys are kept; of others the store is asked.
const maxKeys = 4096

// keys are the keys of conversations that were asked about lately, by their ids. The
// zero value is ready. It is safe for concurrent use.
type keys struct {
	mu   sync.Mutex
	byID map[string]store.Key
	// order has the ids in the order of arrival, from next on, once it is full.
	order []string
	next  int
}

// put keeps the key, in the place of the oldest one if there are maxKeys.
func (k *keys) put(id string, key store.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.byID[id]; known {
		k.byID[id] = key
		return
	}
	if k.byID == nil {
		k.byID = map[string]store.Key{}
	}
	k.byID[id] = key
	if len(k.order) < maxKeys {
		k.order = append(k.order, id)
		return
	}
	delete(k.byID, k.order[k.next])
	k.order[k.next] = id
	k.next = (k.next + 1) % maxKeys
}

// of returns the key of a conversation, if it is kept.
func (k *keys) of(id string) (store.Key, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, ok := k.byID[id]
	return key, ok
}
