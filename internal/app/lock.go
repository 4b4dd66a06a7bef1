package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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

// BusyError: another process runs a turn of the conversation. Nothing was changed.
type BusyError struct {
	// Process is the id of that process; 0 if it is not known.
	Process int
}

// Is reports whether the target is runtime.ErrBusy.
func (e *BusyError) Is(target error) bool { return target == runtime.ErrBusy }

func (e *BusyError) Error() string {
	who := "another process"
	if e.Process != 0 {
		who = fmt.Sprintf("process %d", e.Process)
	}
	return "the conversation is busy with a turn in " + who + "; wait until it has ended, or use another --sender"
}

// Conversation returns the conversation of a registered agent with the sender, as
// [runtime.Agent.Conversation] does.
func (a *App) Conversation(ctx context.Context, agent, sender string) (*runtime.Conversation, error) {
	with, err := a.Runtime.Agent(agent)
	if err != nil {
		return nil, err
	}
	conv, err := with.Conversation(ctx, sender)
	return conv, damaged(a.paths.Conversations, err)
}

// Ephemeral returns an ephemeral conversation of a registered agent with the sender. It begins
// with the history of their stored conversation, if there is one, and makes none.
func (a *App) Ephemeral(ctx context.Context, agent, sender string) (*runtime.Ephemeral, error) {
	with, err := a.Runtime.Agent(agent)
	if err != nil {
		return nil, err
	}
	all, err := a.Store.List(ctx)
	if err != nil {
		return nil, damaged(a.paths.Conversations, err)
	}
	key := store.Key{Project: a.Project(), Agent: agent, Sender: sender}
	if !slices.ContainsFunc(all, func(r store.Record) bool { return r.Key == key }) {
		return with.Ephemeral(ctx, sender)
	}
	conv, err := with.Conversation(ctx, sender)
	if err != nil {
		return nil, damaged(a.paths.Conversations, err)
	}
	e, err := conv.Ephemeral(ctx)
	return e, damaged(a.paths.Conversations, err)
}

// Start begins a turn, as [runtime.Conversation.Start] does. While another process
// that uses the same state directory runs a turn of the conversation, the error is
// a [*BusyError]. A model of o that cannot be asked is an error. It is safe for concurrent use.
func (a *App) Start(ctx context.Context, conv *runtime.Conversation, in message.Input, o *runtime.TurnOptions) (*runtime.Turn, error) {
	if o != nil && o.Model.Name != "" {
		own := *o
		var err error
		if own.Model.Name, err = a.FindModel(o.Model.Name); err != nil {
			return nil, err
		}
		o = &own
	}
	t, err := conv.Start(ctx, in, o)
	return t, a.notBegun(err)
}

// Resume continues an interrupted turn, as [runtime.Conversation.Resume] does,
// with the errors of Start.
func (a *App) Resume(ctx context.Context, conv *runtime.Conversation, o *runtime.TurnOptions) (*runtime.Turn, error) {
	t, err := conv.Resume(ctx, o)
	return t, a.notBegun(err)
}

// notBegun adds to the error of a turn that did not begin the process that is busy, or how to
// mend a damaged database.
func (a *App) notBegun(err error) error {
	var held *store.LeasedError
	if errors.As(err, &held) && errors.Is(err, runtime.ErrBusy) {
		return &BusyError{Process: a.presence.process(held.Lease.Owner)}
	}
	return damaged(a.paths.Conversations, err)
}

// Wait waits for the end of the turn and returns its outcome. The end of ctx cancels the turn.
func (a *App) Wait(ctx context.Context, t *runtime.Turn) hook.TurnOutcome {
	defer context.AfterFunc(ctx, func() { t.Stop(context.Cause(ctx)) })()
	out, err := t.Wait(context.WithoutCancel(ctx))
	out.Err = damaged(a.paths.Conversations, cmp.Or(out.Err, err))
	return a.redact.Outcome(a.limited(t.Conversation().Agent(), out))
}

// Interrupted reports whether the conversation has a turn whose process has died,
// so that Resume can continue it.
func (a *App) Interrupted(rec store.Record) bool {
	if a.nodes != nil {
		// Only the store knows who is dead. What this process has itself and does not run it has let go.
		return rec.Journaled && (rec.Lease.Until.IsZero() || rec.Lease.Owner == a.presence.owner)
	}
	return rec.Journaled && (!rec.Lease.Until.After(time.Now()) || a.presence.gone(rec.Lease.Owner))
}

// presence shows other processes that this one is alive: a locked file, which the kernel
// unlocks when the process ends in any way. Its name is the owner of the leases of
// conversations.
type presence struct {
	dir   string
	owner string
	file  *flock.Flock
}

// ownerPrefix begins the names of owners with such a file.
const ownerPrefix = "grapnel-"

func newPresence(dir string) (*presence, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, unwritable(dir, err)
	}
	p := &presence{dir: dir, owner: ownerPrefix + ulid.Make().String()}
	p.file = flock.New(p.path(p.owner), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	if err := p.file.Lock(); err != nil {
		return nil, fmt.Errorf("lock the file of this process: %w", err)
	}
	// The id is only for the error texts of other processes.
	_ = os.WriteFile(p.file.Path(), []byte(strconv.Itoa(os.Getpid())), 0o600)
	return p, nil
}

func (p *presence) path(owner string) string { return filepath.Join(p.dir, owner) }

// gone reports whether the process of that owner has ended. If so, it removes the file.
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
	_ = errors.Join(os.Remove(f.Path()), f.Unlock()) // an unlocked file means the same as none
	return true
}

// Processes returns the ids of the other processes that use the state directory and run agents; 0 for
// one whose id is not known.
func (p Paths) Processes() (pids []int, err error) {
	files, err := os.ReadDir(p.locks())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	others := presence{dir: p.locks()}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), ownerPrefix) && !others.gone(f.Name()) {
			pids = append(pids, others.process(f.Name()))
		}
	}
	return pids, err
}

// process returns the process id in the owner's file; 0 if there is none.
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

// end removes and unlocks the file.
func (p *presence) end() error { return errors.Join(os.Remove(p.file.Path()), p.file.Unlock()) }
