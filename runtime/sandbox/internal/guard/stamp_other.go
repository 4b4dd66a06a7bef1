//go:build !linux

package guard

// fresh reports whether another change could have the same time.
func (s stamp) fresh() bool { return true }

// watcher is for Linux only.
type watcher struct{}

func newWatcher() *watcher { return nil }

func (*watcher) close() error { return nil }

func (*watcher) add(string, string) {}

func (*watcher) changed() (map[string]bool, map[string]bool, bool) { return nil, nil, false }
