package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// holderFile names the variable by which a test makes its own binary a process
// that does with a file what it is told.
const holderFile = "GRAPNEL_TEST_HOLD"

// hold does what the lines of its input say and answers each with a line: what has
// become of it.
func hold(path string) {
	s, err := sqlite.Open(context.Background(), path, nil)
	check(err)
	h := &holder{s: s, name: fmt.Sprint(os.Getpid())}
	h.rec, err = s.Conversation(context.Background(), store.Key{Agent: "a"})
	check(err)
	h.rec.Lease = store.Lease{} // whoever has it, it is another
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		word, rest, _ := strings.Cut(in.Text(), " ")
		fmt.Println(outcome(h.do(word, rest)))
	}
	check(s.Close())
	os.Exit(0)
}

type holder struct {
	s    *sqlite.Store
	name string
	rec  store.Record
}

func (h *holder) do(word, rest string) (err error) {
	ctx := context.Background()
	switch word {
	case "claim":
		d, err := time.ParseDuration(rest)
		check(err)
		rec, err := h.s.Claim(ctx, h.rec.ID, store.Claim{Owner: h.name, Hold: d})
		if err == nil {
			h.rec = rec
		}
		return err
	case "append":
		v, err := h.s.Append(ctx, h.rec.ID, store.Append{Version: h.rec.Version, Epoch: h.rec.Lease.Epoch, Hold: time.Minute,
			Messages: message.MessagesOf(message.UserText(rest)), Entries: []store.Entry{{Kind: store.EntryStart, CallID: rest}}})
		if err == nil {
			h.rec.Version = v
		}
		return err
	case "note":
		_, err := h.s.Note(ctx, h.rec.ID, store.Note{Epoch: h.rec.Lease.Epoch, Hold: time.Minute, Entries: []store.Entry{{Kind: store.EntryStart, CallID: rest}}})
		return err
	case "compact":
		_, err := h.s.Compact(ctx, h.rec.ID, store.At{Version: h.rec.Version, Epoch: h.rec.Lease.Epoch}, 1, message.UserText(rest))
		return err
	case "rewind":
		_, err := h.s.Rewind(ctx, h.rec.ID, store.At{Version: h.rec.Version, Epoch: h.rec.Lease.Epoch}, 0)
		return err
	case "free":
		_, err := h.s.Note(ctx, h.rec.ID, store.Note{Epoch: h.rec.Lease.Epoch})
		return err
	}
	return errors.New("what is " + word + "?")
}

func outcome(err error) string {
	for name, known := range map[string]error{"leased": store.ErrLeased, "fenced": store.ErrFenced, "conflict": store.ErrConflict} {
		if errors.Is(err, known) {
			return name
		}
	}
	if err != nil {
		return "failed: " + err.Error()
	}
	return "done"
}
