// Package limits bounds what the processes of a sandbox use together.
package limits

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Limits are what the processes below one may use together; 0 is no limit.
type Limits struct {
	// Memory is in bytes: what is theirs alone, without files that are mapped.
	Memory int64
	// Processes counts them.
	Processes int
	// FileSize is the size of one file, in bytes.
	FileSize int64
}

// Default returns the limits for a machine with so much memory: three quarters of it, 4,096 processes and files of 16 GiB.
func Default(memory int64) Limits {
	return Limits{Memory: memory / 4 * 3, Processes: 4096, FileSize: 16 << 30}
}

// Or returns the limits with those of o in the place of zero ones.
func (l Limits) Or(o Limits) Limits {
	return Limits{Memory: cmp.Or(l.Memory, o.Memory), Processes: cmp.Or(l.Processes, o.Processes), FileSize: cmp.Or(l.FileSize, o.FileSize)}
}

// interval is how often a watcher looks.
const interval = 200 * time.Millisecond

// Watch sums up what the tree below a process uses, until ctx ends. When it is too much it calls kill once, and returns why in one
// sentence; "" if it never was.
func Watch(ctx context.Context, root int, l Limits, kill func()) string {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-tick.C:
		}
		if why := exceeded(root, l); why != "" {
			kill()
			return why
		}
	}
}

func exceeded(root int, l Limits) string {
	u := usage(root, l.Processes)
	switch {
	case l.Processes > 0 && u.processes > l.Processes:
		return fmt.Sprintf("the command was killed: it had more than %d processes", l.Processes)
	case l.Memory > 0 && u.memory > l.Memory:
		return fmt.Sprintf("the command was killed: it used %s of memory, and may use %s", size(u.memory), size(l.Memory))
	}
	return ""
}

// used is what a tree of processes uses.
type used struct {
	processes int
	memory    int64
}

func size(n int64) string { return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)) }
