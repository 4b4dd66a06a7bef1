//go:build linux

package modelbombs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		child(text)
	}
	os.Exit(m.Run())
}

const mib = 1 << 20

// bomb is what a server does, and what becomes of the turn.
type bomb struct {
	name string
	// answer is that to the turn that is attacked. Every later request has a short one.
	answer func(w http.ResponseWriter)
	// text and arguments are the limits of the child, 0 for the defaults.
	text, arguments int
	// holds is how much the reply may have, if that is not what is kept of it: bounds
	// are multiples of it.
	holds int
	class message.FailureClass
	// says is a part of the error.
	says string
	// ran is how many calls run.
	ran int
}

// floor is what any turn may take: rings of events, and a connection.
const floor = 24 * mib

// Limits for 50 MB, and none at all.
const (
	room      = 64 * mib
	unbounded = 1 << 40
)

var bombs = []bomb{
	{name: "50 MB of text that are wanted", answer: text(50*mib, "content"), text: room},
	{name: "50 MB of arguments that are wanted", answer: arguments(50 * mib), arguments: room, ran: 1},
	{name: "text", answer: text(200*mib, "content"), holds: provider.DefaultMaxText, class: message.FailureTooLarge, says: "--max-text"},
	{name: "reasoning", answer: text(200*mib, "reasoning"), holds: provider.DefaultMaxText, class: message.FailureTooLarge, says: "--max-text"},
	{name: "arguments", answer: arguments(200 * mib), holds: provider.DefaultMaxArguments, class: message.FailureTooLarge, says: "--max-arguments"},
	{name: "events that say nothing", answer: repeated(-1, textEvent("")), class: message.FailureTooLarge, says: "MaxStream"},
	{name: "comments", answer: repeated(-1, ": still here\n\n"), class: message.FailureTooLarge, says: "MaxStream"},
	{name: "texts between reasonings", answer: func(w http.ResponseWriter) {
		repeats(head(w), -1, func(int) string { return textEvent("x") + strings.Replace(textEvent("y"), "content", "reasoning", 1) })
	}, class: message.FailureTooLarge, says: "Limits.Blocks"},
	{name: "a million calls", answer: func(w http.ResponseWriter) {
		repeats(head(w), 1_000_000, func(i int) string { return callEvent(i, fmt.Sprint("c", i), "take", "{}") })
	}, class: message.FailureProtocol, says: "tool calls"},
	{name: "far indices", answer: func(w http.ResponseWriter) {
		repeats(head(w), -1, func(i int) string { return callEvent(1_000_000_000+i, "", "take", "{}") })
	}, class: message.FailureProtocol, says: "tool calls"},
	{name: "a list of five million calls", answer: func(w http.ResponseWriter) {
		b := head(w)
		fmt.Fprint(b, `data: {"choices":[{"delta":{"tool_calls":[{}`)
		repeats(b, 5_000_000, func(int) string { return ",{}" })
		fmt.Fprint(b, "]}}]}\n\n"+finishEvent("stop"))
		_ = b.Flush()
	}, holds: 16 * mib, class: message.FailureProtocol, says: "tool calls"},
	{name: "calls without a name", answer: func(w http.ResponseWriter) {
		repeats(head(w), -1, func(int) string { return callEvent(0, "c", "", strings.Repeat("x", pieceSize)) })
	}, class: message.FailureProtocol, says: "no name"},
	{name: "names of 1 MB", answer: func(w http.ResponseWriter) {
		repeats(head(w), -1, func(i int) string { return callEvent(i, "", strings.Repeat("n", mib), "{}") })
	}, class: message.FailureProtocol, says: "longer than"},
	{name: "ids of 1 MB", answer: func(w http.ResponseWriter) {
		repeats(head(w), -1, func(i int) string { return callEvent(i, strings.Repeat("i", mib), "", "") })
	}, class: message.FailureProtocol, says: "longer than"},
	{name: "an event without an end", answer: func(w http.ResponseWriter) {
		b := head(w)
		fmt.Fprint(b, "data: ")
		repeats(b, -1, func(int) string { return strings.Repeat("x", pieceSize) })
	}, holds: 16 * mib, class: message.FailureTooLarge, says: "MaxEvent"},
	{name: "an event of many lines", answer: repeated(-1, "data: "+strings.Repeat("x", pieceSize)+"\n"), holds: 16 * mib, class: message.FailureTooLarge, says: "MaxEvent"},
	{name: "gzip", answer: zipped, holds: provider.DefaultMaxText, class: message.FailureTooLarge, says: "--max-text"},
	{name: "an error without an end", answer: refuses, class: message.FailureRequest},
	{name: "9 MB of headers", answer: headed(9 * mib), holds: 9 * mib},
	{name: "100 MB of headers", answer: headed(100 * mib), holds: 10 * mib, class: message.FailureNetwork},
}

// bad are runs that the bounds have to find: nothing bounds the reply.
var bad = []bomb{
	{name: "text that nothing bounds", answer: text(30*mib, "content"), text: unbounded, holds: provider.DefaultMaxText},
	{name: "arguments that nothing bounds", answer: arguments(30 * mib), arguments: unbounded, holds: provider.DefaultMaxArguments, ran: 1},
}

// explode runs the bomb in a process of its own.
func (b bomb) explode(t *testing.T) report {
	t.Helper()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked++; asked == 2 {
			b.answer(w)
			return
		}
		answers(w)
	}))
	defer server.Close()
	o, err := json.Marshal(order{Dir: t.TempDir(), URL: server.URL, Text: b.text, Arguments: b.arguments})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // of a machine that is busy: the bound is on memory
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+string(o))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "%s", errs.String())
	var r report
	require.NoError(t, json.Unmarshal(out, &r))
	return r
}

// exceeds says which bound the memory that was taken is beyond; "" for none.
func (b bomb) exceeds(r report) string {
	kept := int64(max(b.holds, r.Kept))
	switch {
	case r.Peak > 8*kept+floor:
		return fmt.Sprintf("%d MiB at most, of %d", r.Peak/mib, (8*kept+floor)/mib)
	case r.Live > 3*int64(r.Kept)+floor:
		return fmt.Sprintf("%d MiB on the heap, of %d", r.Live/mib, (3*int64(r.Kept)+floor)/mib)
	case r.Resident > 3*int64(r.Kept)+2*floor:
		return fmt.Sprintf("%d MiB afterwards, of %d", r.Resident/mib, (3*int64(r.Kept)+2*floor)/mib)
	}
	return ""
}

// TestModelBombs: a model server sends more than anybody wants. Memory stays within
// multiples of what is kept, the turn says which limit was exceeded, nothing of a reply
// that was cut is kept, and none of its calls runs.
func TestModelBombs(t *testing.T) {
	needs.Proof(t)
	for _, b := range bombs {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			r := b.explode(t)
			t.Logf("%+v", r)
			if allocs.Counted {
				assert.Empty(t, b.exceeds(r))
			}
			assert.Equal(t, b.ran, r.Ran, "calls that ran")
			assert.Equal(t, b.class, r.Class)
			assert.Contains(t, r.Err, b.says)
			if b.class != "" {
				assert.Equal(t, hook.StopError, r.Stop)
				assert.Less(t, r.Kept, 100, "a reply that was cut is not kept")
			}
			figure(t, strings.Map(word, b.name), r.Peak/mib, fmt.Sprintf("MiB at most, %d kept", r.Kept/mib))
		})
	}
}

// TestTheBoundsFindRepliesThatNothingBounds: they would let nothing pass that takes
// what it wants.
func TestTheBoundsFindRepliesThatNothingBounds(t *testing.T) {
	needs.Proof(t)
	found := 0
	for _, b := range bad {
		r := b.explode(t)
		r.Kept = 0 // as with a bound
		why := b.exceeds(r)
		assert.NotEmpty(t, why, b.name)
		if why != "" {
			found++
		}
		t.Log(b.name, why)
	}
	figure(t, "bad.unbounded", found, "servers that take what they want")
}

func word(r rune) rune {
	if r == ' ' {
		return '-'
	}
	return r
}

func figure(t *testing.T, name string, value any, unit string) {
	t.Helper()
	t.Log(strings.TrimSpace(fmt.Sprintf("FIGURE %s=%v %s", name, value, unit)))
}
