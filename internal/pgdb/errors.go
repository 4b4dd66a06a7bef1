package pgdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// What the functions below say of an error, and what this package does about it:
//
//	conflict   another transaction is in the way           again
//	locked     a lock was not to be had in time            a write that was with others: again, alone, and it waits
//	lost       the connection, or its answer               again, unless it must not be repeated: see ErrUnknownOutcome
//	unsent     the server got nothing                      again, whatever it is
//	transient  conflict, lost, unsent but for refused,     again, while the patience lasts
//	           or too many connections
//	refused    the server will never accept us             the error
//
// Down, Full, NotText and Exists are for callers; Down is a part of transient. An error that ends a context has with it
// what the database said before: a caller that has no time left still learns that it is Down.

// ErrUnknownOutcome: the connection was lost during a commit, and the database could not say
// whether it has happened.
var ErrUnknownOutcome = errors.New("whether the write was committed is unknown")

// errSilent: what was sent may have been done.
var errSilent = errors.New("the database does not answer")

// The classes of SQLSTATE that this package knows
// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const (
	classConnection     = "08"
	classShutdown       = "57P" // admin_shutdown, crash_shutdown, cannot_connect_now
	serializationFailed = "40001"
	deadlock            = "40P01"
	tooManyConnections  = "53300"
	diskFull            = "53100"
	notInRepertoire     = "22021"
	uniqueViolation     = "23505"
	noStatement         = "26000"
	duplicateStatement  = "42P05"
	notSupported        = "0A000"
	lockNotAvailable    = "55P03"
	queryCanceled       = "57014"
	idleInTransaction   = "25P03" // the server has closed the connection
)

func state(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// Full reports whether err means that the database has no room on its disk.
func Full(err error) bool { return state(err) == diskFull }

// Down reports whether err means that no server runs at the address, or that it starts or stops.
func Down(err error) bool {
	return strings.HasPrefix(state(err), classShutdown) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
}

// NotText reports whether err means that an argument is no text that PostgreSQL can have: it has
// a NUL, or is no UTF-8. No row has such a text.
func NotText(err error) bool { return state(err) == notInRepertoire }

// Expired reports whether err means that a statement took longer than its statement_timeout.
func Expired(err error) bool { return state(err) == queryCanceled }

// Exists reports whether err means that there is a row with a key already.
func Exists(err error) bool { return state(err) == uniqueViolation }

// conflict reports whether another transaction is why nothing was written: also one that has
// changed a table after a statement about it was prepared.
func conflict(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == serializationFailed || e.Code == deadlock || e.Code == notSupported && strings.HasPrefix(e.Message, "cached plan"))
}

// locked reports whether a lock was not to be had in time.
func locked(err error) bool { return state(err) == lockNotAvailable }

// lost reports whether the connection was lost: a write may have happened, unless nothing was
// sent.
func lost(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if code := state(err); code != "" {
		return strings.HasPrefix(code, classConnection) || strings.HasPrefix(code, classShutdown) || code == idleInTransaction
	}
	var network net.Error
	return pgconn.SafeToRetry(err) || errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.Is(err, errSilent) || errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, net.ErrClosed)
}

// unsent reports whether nothing reached the server.
func unsent(err error) bool {
	_, unconnected := errors.AsType[*pgconn.ConnectError](err)
	return unconnected || pgconn.SafeToRetry(err)
}

// transient reports whether the same call may succeed soon, and does nothing twice.
func transient(err error) bool {
	if errors.Is(err, ErrUnknownOutcome) {
		return false
	}
	_, unconnected := errors.AsType[*pgconn.ConnectError](err)
	return lost(err) || conflict(err) || state(err) == tooManyConnections || unconnected && !refused(err)
}

// refused reports whether the server answered that it will never accept the connection, as with a
// wrong password.
func refused(err error) bool {
	code := state(err)
	return code != "" && !strings.HasPrefix(code, classShutdown) && !strings.HasPrefix(code, classConnection) && code != tooManyConnections
}

// patiently calls f until its error is not transient, or d.patience is over. A conflict is tried
// again at once, a lost connection after a pause.
func (d *DB) patiently(ctx context.Context, f func() error) error {
	return discreet(d.until(ctx, time.Now().Add(d.patience), f))
}

// until is patiently with a deadline.
func (d *DB) until(ctx context.Context, deadline time.Time, f func() error) error {
	var said error // by the database, before the attempt that ctx has ended
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		err := f()
		if said != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return fmt.Errorf("%w, while the database could not be asked: %w", err, said)
		}
		said = err
		if err == nil || ctx.Err() != nil || !transient(err) || time.Now().Add(wait).After(deadline) {
			return explained(err)
		}
		if ended := pause(ctx, wait/2+rand.N(wait)); ended != nil { //nolint:gosec // it only spreads
			return fmt.Errorf("%w, while the database could not be asked: %w", ended, err)
		}
	}
}

// explained adds to an error what to do about it.
func explained(err error) error {
	if code := state(err); code == noStatement || code == duplicateStatement {
		return fmt.Errorf("%w; if a pooler is between, it does not keep prepared statements: set its max_prepared_statements, or add default_query_exec_mode=cache_describe to the DSN", err)
	}
	return err
}

// pause waits, and returns the cause of ctx if that ends before.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
