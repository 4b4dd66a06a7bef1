package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime"
)

// BusyError says that another turn of the conversation is running. Nothing has
// happened to either.
type BusyError struct {
	// Process is the id of the process that runs it; 0 if it is not known.
	Process int
}

func (e *BusyError) Error() string {
	who := "another process"
	if e.Process != 0 {
		who = fmt.Sprintf("process %d", e.Process)
	}
	return "the conversation is busy with a turn in " + who + "; wait until it has ended, or use another --sender"
}

// Conversation returns the conversation of a registered agent with the sender, as
// [runtime.Runtime.Conversation] does.
func (a *App) Conversation(ctx context.Context, agent, sender string) (*runtime.Conversation, error) {
	conv, err := a.Runtime.Conversation(ctx, agent, sender)
	return conv, damaged(a.paths.Conversations, err)
}

// Send runs one turn, as [runtime.Conversation.Send] does, but never two of one
// conversation at a time in all processes that use the same state directory: the
// one that comes second would lose what it has done, because the history it began
// with is no longer that of the store. It is refused with a [*BusyError] before
// anything happens. Safe for concurrent use.
func (a *App) Send(ctx context.Context, conv *runtime.Conversation, in hook.Input, o *runtime.SendOptions) (hook.TurnOutcome, error) {
	unlock, err := lock(filepath.Join(a.paths.locks(), conv.ID()))
	if err != nil {
		return hook.TurnOutcome{Stop: hook.StopError, Err: err}, err
	}
	defer unlock()
	out, _ := conv.Send(ctx, in, o)
	out.Err = damaged(a.paths.Conversations, out.Err)
	return a.limited(conv.Agent(), out), out.Err
}

// lock makes the file and holds it until unlock is called or the process ends,
// however it ends. The file goes with the lock.
func lock(path string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, unwritable(filepath.Dir(path), err)
	}
	for {
		f := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
		ok, err := f.TryLock()
		if err != nil {
			return nil, fmt.Errorf("lock the conversation: %w", err)
		}
		if !ok {
			return nil, &BusyError{Process: holder(path)}
		}
		if current(f) {
			// Only for the sentence that others say: the lock holds without it.
			_ = os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())), 0o600)
			return func() { _ = errors.Join(os.Remove(path), f.Unlock()) }, nil
		}
		_ = f.Unlock() // who had the lock has removed the file meanwhile
	}
}

// current reports whether the locked file is still the one of its name.
func current(f *flock.Flock) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(f.Path())
	return !errors.Is(err, fs.ErrNotExist) && (err != nil || os.SameFile(held, named))
}

// holder is the process that has the lock, as far as it has said so.
func holder(path string) int {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	return pid
}
