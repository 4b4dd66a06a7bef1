//go:build linux

package modelbombs_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/openai"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// childVariable makes the test's binary the program that the model attacks.
const childVariable = "GRAPNEL_TEST_MODEL_BOMB"

// order is what the child is to do.
type order struct {
	Dir, URL string
	// Limits are those of a reply in bytes; 0 is the default.
	Text, Arguments int
}

// report is what the child has seen, sizes in bytes.
type report struct {
	// Live is what the heap has after a collection and Resident what the process has
	// of the machine's memory, beyond what they were before; Peak is the most that
	// Resident has been.
	Live, Resident, Peak int64
	Stop                 hook.StopReason
	Class                message.FailureClass
	Err                  string
	// Kept are the bytes of the conversation's messages, and Ran the calls that ran.
	Kept, Ran int
	Took      time.Duration
}

// taker is a tool that takes a text.
type taker struct {
	hook.Nop
	ran int
}

func (h *taker) Schema() []message.Tool {
	return []message.Tool{{Name: "take", Input: `{"type":"object","properties":{"s":{"type":"string"}}}`}}
}

func (h *taker) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	if call.Name() != "take" {
		return hook.Invocation{}, false
	}
	return hook.Bound(call.Args(), h), true
}

// Run implements hook.Runner.
func (h *taker) Run(context.Context, *hook.Env) message.ToolResult {
	h.ran++
	return message.TextResult("taken")
}

// runChild runs one short turn, and then the one that the server attacks.
func runChild(ctx context.Context, o order) (r report, err error) {
	st, err := sqlite.Open(ctx, o.Dir+"/conversations.db", nil)
	if err != nil {
		return r, err
	}
	h := &taker{}
	rt := runtime.New(h, openai.New(&openai.Options{BaseURL: o.URL}), &runtime.Options{
		Store: st, Events: runtime.Events{Recent: 4096}, Limits: runtime.Limits{Reply: provider.Limits{Text: o.Text, Arguments: o.Arguments}},
	})
	if err := rt.Open(ctx); err != nil {
		return r, err
	}
	if _, err := rt.Register(ctx, hook.AgentConfig{Name: "a"}); err != nil {
		return r, err
	}
	reader := rt.Subscribe(nil)
	defer reader.Close()
	conv, err := dialog.Conversation(ctx, rt, "a", "me")
	if err != nil {
		return r, err
	}
	if _, err := dialog.Send(ctx, conv, message.TextInput("warm up"), nil); err != nil {
		return r, err
	}
	live, idle, err := settle()
	if err != nil {
		return r, err
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return r, err
	}
	began := time.Now()
	out, failed := dialog.Send(ctx, conv, message.TextInput("go"), nil)
	r.Took = time.Since(began)

	peak, err := status("VmHWM")
	if err != nil {
		return r, err
	}
	r.Peak = peak - idle
	if r.Live, r.Resident, err = settle(); err != nil {
		return r, err
	}
	r.Live, r.Resident = r.Live-live, r.Resident-idle
	r.Stop, r.Ran = out.Stop, h.ran
	if failed != nil {
		r.Err = failed.Error()
		r.Class, _ = provider.Classify(failed)
	}
	messages, err := st.Messages(ctx, conv.ID())
	if err != nil {
		return r, err
	}
	for _, m := range messages {
		for _, b := range m.Content.All() {
			r.Kept += len(b.Text) + len(b.JSON)
		}
	}
	return r, nil
}

// settle returns what the heap has after a collection, and the process afterwards. The connection to the server ends some time
// after the turn, and holds its buffers until then, so settle collects until the heap shrinks no more.
func settle() (live, resident int64, err error) {
	const most, pause = 50, 40 * time.Millisecond
	var m goruntime.MemStats
	live = math.MaxInt64
	for same, i := 0, 0; same < 5 && i < most; same, i = same+1, i+1 {
		debug.FreeOSMemory()
		goruntime.ReadMemStats(&m)
		if int64(m.HeapAlloc) < live-live/100 {
			same = 0
		}
		live = min(live, int64(m.HeapAlloc))
		time.Sleep(pause)
	}
	resident, err = status("VmRSS")
	return live, resident, err
}

// status reads one line of the process's own state, in bytes.
func status(name string) (int64, error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no %s", name)
}

// child does what the variable says and prints the report.
func child(text string) {
	var o order
	err := json.Unmarshal([]byte(text), &o)
	var r report
	if err == nil {
		r, err = runChild(context.Background(), o)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
