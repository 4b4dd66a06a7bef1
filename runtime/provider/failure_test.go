package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	plain := errors.New("plain")
	for _, tc := range []struct {
		name  string
		err   error
		class message.FailureClass
		after time.Duration
	}{
		{"what the adapter says", &provider.Error{Class: message.FailureOverloaded, RetryAfter: time.Minute, Err: plain}, message.FailureOverloaded, time.Minute},
		{"what it says deep inside", fmt.Errorf("asked: %w", &provider.Error{Class: message.FailureAuth, Err: io.EOF}), message.FailureAuth, 0},
		{"an adapter that knows only when to ask again", &provider.Error{RetryAfter: time.Second, Err: io.EOF}, message.FailureNetwork, time.Second},
		{"a time before now is none", &provider.Error{Class: message.FailureServer, RetryAfter: -time.Second, Err: plain}, message.FailureServer, 0},
		{"broken rules", fmt.Errorf("x: %w", provider.ErrProtocol), message.FailureProtocol, 0},
		{"cut off", provider.ErrNoFinish, message.FailureNetwork, 0},
		{"closed", fmt.Errorf("x: %w", io.EOF), message.FailureNetwork, 0},
		{"closed here", net.ErrClosed, message.FailureNetwork, 0},
		{"closed within", io.ErrUnexpectedEOF, message.FailureNetwork, 0},
		{"refused", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, message.FailureNetwork, 0},
		{"no such host", &net.DNSError{Err: "no such host", IsNotFound: true}, message.FailureNetwork, 0},
		{"late host", &net.DNSError{Err: "i/o timeout", IsTimeout: true}, message.FailureTimeout, 0},
		{"its own deadline", context.DeadlineExceeded, message.FailureTimeout, 0},
		{"a file, though its error has a timeout", fmt.Errorf("model x: %w", &fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}), message.FailureUnknown, 0},
		{"a deadline of a file", &fs.PathError{Op: "read", Path: "x", Err: os.ErrDeadlineExceeded}, message.FailureTimeout, 0},
		{"a call of the system", os.NewSyscallError("read", syscall.ECONNRESET), message.FailureNetwork, 0},
		{"anything else", plain, message.FailureUnknown, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			class, after := provider.Classify(tc.err)
			assert.Equal(t, tc.class, class)
			assert.Equal(t, tc.after, after)
		})
	}
}

func TestErrorIsWhatItWraps(t *testing.T) {
	t.Parallel()
	err := error(&provider.Error{Class: message.FailureServer, Err: io.ErrClosedPipe})
	require.ErrorIs(t, err, io.ErrClosedPipe)
	assert.EqualError(t, err, io.ErrClosedPipe.Error())
}
