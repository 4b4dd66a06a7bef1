package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/history"
)

// long returns a valid history of n messages, or one or two more.
func long(n int) []message.Message {
	var ms []message.Message
	for i := 0; len(ms) < n; i += 2 {
		a, b := fmt.Sprintf("call_%024d", i), fmt.Sprintf("call_%024d", i+1)
		ms = append(ms, user("What is in there?"),
			says(text("I look."), call(a, "read", `{"path":"docs/index.md","lines":200}`), call(b, "grep", `{"pattern":"ö.*\\n","path":"."}`)),
			result(a, "read", strings.Repeat("line\n", 100)), result(b, "grep", "nothing"), says(text("Nothing.")))
	}
	return ms
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{10, 100, 10_000} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			ms := long(n)
			b.ReportAllocs()
			for b.Loop() {
				if history.Check(ms) != nil {
					b.Fatal("it is valid")
				}
			}
		})
	}
}

func BenchmarkRepair(b *testing.B) {
	ms := long(10_000)
	ms = append(ms[:7], ms[8:]...) // a result is gone
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := history.Repair(ms); len(problems) != 1 {
			b.Fatal(problems)
		}
	}
}
