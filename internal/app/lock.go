package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/oklog/ulid/v2"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/conffile"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// BusyError says that another turn of the conversation is running. Nothing has
// happened to either.
type BusyError struct {
	// Process is the id of the process that runs it; 0 if it is not known.
	Process int
}

// Is makes it runtime.ErrBusy.
func (e *BusyError) Is(target error) bool { return target == runtime.ErrBusy }

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

// Send runs one turn, as [runtime.Conversation.Send] does. While another process
// that uses the same state directory runs a turn of the conversation, the error is
// a [*BusyError]. Safe for concurrent use.
func (a *App) Send(ctx context.Context, conv *runtime.Conversation, in message.Input, o *runtime.SendOptions) (hook.TurnOutcome, error) {
	out, err := conv.Send(ctx, in, o)
	return a.sent(conv, out, err)
}

// Resume goes on with an interrupted turn, as [runtime.Conversation.Resume] does,
// with errors as those of Send.
func (a *App) Resume(ctx context.Context, conv *runtime.Conversation, o *runtime.SendOptions) (hook.TurnOutcome, error) {
	out, err := conv.Resume(ctx, o)
	return a.sent(conv, out, err)
}

// Interrupted reports whether the conversation has a turn whose process has died,
// so that Resume can go on with it.
func (a *App) Interrupted(rec store.Record) bool {
	return rec.Journaled && (!rec.Lease.Until.After(time.Now()) || a.presence.gone(rec.Lease.Owner))
}

// sent says of the outcome of a turn what the daemon knows and the runtime does
// not.
func (a *App) sent(conv *runtime.Conversation, out hook.TurnOutcome, err error) (hook.TurnOutcome, error) {
	var held *store.LeasedError
	if errors.As(err, &held) && errors.Is(err, runtime.ErrBusy) {
		out.Err = &BusyError{Process: a.presence.process(held.Lease.Owner)}
		return out, out.Err
	}
	out.Err = damaged(a.paths.Conversations, out.Err)
	return a.limited(conv.Agent(), out), out.Err
}

// presence is the sign by which other processes see that this one lives: a locked
// file, which the kernel unlocks whatever becomes of the process. Its name is the
// owner of the leases of conversations.
type presence struct {
	dir   string
	owner string
	file  *flock.Flock
}

// ownerPrefix tells owners that have such a file from others.
const ownerPrefix = "grapnel-"

func newPresence(dir string) (*presence, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unwritable(dir, err)
	}
	p := &presence{dir: dir, owner: ownerPrefix + ulid.Make().String()}
	p.file = flock.New(p.path(p.owner), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	if err := p.file.Lock(); err != nil {
		return nil, fmt.Errorf("say that this process lives: %w", err)
	}
	// Only for the sentence that others say: the lock holds without it.
	_ = os.WriteFile(p.file.Path(), []byte(strconv.Itoa(os.Getpid())), 0o600)
	return p, nil
}

func (p *presence) path(owner string) string { return filepath.Join(p.dir, owner) }

// gone reports whether the process of that owner has ended. What it left behind is
// removed.
func (p *presence) gone(owner string) bool {
	if owner == p.owner || !strings.HasPrefix(owner, ownerPrefix) || owner != filepath.Base(owner) {
		return false
	}
	f := flock.New(p.path(owner), flock.SetFlag(os.O_RDWR))
	free, err := f.TryLock()
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil || !free {
		return false
	}
	_ = errors.Join(os.Remove(f.Path()), f.Unlock()) // a file without a lock says the same as none
	return true
}

// process is the id of the owner's process, as far as it has said so; 0 if not.
func (p *presence) process(owner string) int {
	if owner != filepath.Base(owner) {
		return 0
	}
	data, err := conffile.Read(p.path(owner), &conffile.Options{Max: 32})
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0
	}
	return pid
}

// end takes the sign away.
func (p *presence) end() error { return errors.Join(os.Remove(p.file.Path()), p.file.Unlock()) }
