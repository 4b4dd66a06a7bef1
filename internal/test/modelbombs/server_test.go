//go:build linux

package modelbombs_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// head begins a stream of events.
func head(w http.ResponseWriter) *bufio.Writer {
	w.Header().Set("Content-Type", "text/event-stream")
	return bufio.NewWriterSize(w, 64<<10)
}

// pieceSize is how many bytes of text or arguments come in one event.
const pieceSize = 1000

func textEvent(text string) string {
	return `data: {"choices":[{"delta":{"content":"` + text + `"}}]}` + "\n\n"
}

func callEvent(index int, id, name, args string) string {
	return fmt.Sprintf(`data: {"choices":[{"delta":{"tool_calls":[{"index":%d,"id":%q,"function":{"name":%q,"arguments":%q}}]}}]}`+"\n\n", index, id, name, args)
}

func finishEvent(reason string) string {
	return `data: {"choices":[{"delta":{},"finish_reason":"` + reason + `"}]}` + "\n\ndata: [DONE]\n\n"
}

// answers writes a short whole answer.
func answers(w http.ResponseWriter) {
	b := head(w)
	fmt.Fprint(b, textEvent("done")+finishEvent("stop"))
	_ = b.Flush()
}

// repeats writes the events of one after the other n times; n < 0 is until the
// client leaves.
func repeats(b *bufio.Writer, n int, event func(i int) string) {
	for i := 0; n < 0 || i < n; i++ {
		if _, err := b.WriteString(event(i)); err != nil {
			return
		}
	}
	_ = b.Flush()
}

// repeated is repeats of one event.
func repeated(n int, event string) func(w http.ResponseWriter) {
	return func(w http.ResponseWriter) { repeats(head(w), n, func(int) string { return event }) }
}

// text answers with so many bytes of text.
func text(size int, member string) func(w http.ResponseWriter) {
	event := strings.Replace(textEvent(strings.Repeat("x", pieceSize)), "content", member, 1)
	return func(w http.ResponseWriter) {
		b := head(w)
		repeats(b, size/pieceSize, func(int) string { return event })
		repeats(b, 1, func(int) string { return textEvent("the end") + finishEvent("stop") })
	}
}

// arguments calls a tool with so many bytes of arguments.
func arguments(size int) func(w http.ResponseWriter) {
	event := callEvent(0, "", "", strings.Repeat("x", pieceSize))
	return func(w http.ResponseWriter) {
		b := head(w)
		repeats(b, 1, func(int) string { return callEvent(0, "call_1", "take", `{"s":"`) })
		repeats(b, size/pieceSize, func(int) string { return event })
		repeats(b, 1, func(int) string { return callEvent(0, "", "", `"}`) + finishEvent("tool_calls") })
	}
}

// zipped answers with a stream that is small on the wire.
func zipped(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	block := []byte(strings.Repeat(textEvent(strings.Repeat("x", pieceSize)), 1000))
	for {
		if _, err := z.Write(block); err != nil {
			return
		}
	}
}

// refuses answers with an error whose body has no end.
func refuses(w http.ResponseWriter) {
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, `{"error":{"message":"`)
	for {
		if _, err := io.WriteString(w, strings.Repeat("x", 64<<10)); err != nil {
			return
		}
	}
}

// headed answers with headers of so many bytes.
func headed(size int) func(w http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := range size / pieceSize {
			w.Header().Set(fmt.Sprint("X-Bomb-", i), strings.Repeat("x", pieceSize))
		}
		answers(w)
	}
}
