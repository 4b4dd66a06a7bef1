package secure

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook/message"
)

// What hooks add to a later request is noted, though the guard does not read again what it has read: in the same storage, in a fork
// of it, and where nobody but the guard has kept the request.
func TestEveryRequestIsNoted(t *testing.T) {
	t.Parallel()
	key := "ghp_n6Gk2vQ8sT4wXy7ZbC3dEf5hJm9pRr1uWq0L"
	added := message.UserText("the key is " + key)
	added.Ephemeral = true
	history := message.MessagesOf(message.UserText("hello"))
	for i := range 40 {
		history = history.Append(message.UserText(string(rune('a' + i%26))))
	}
	for name, next := range map[string]func() message.Messages{
		"grown": func() message.Messages { return history.Append(message.UserText("more"), added) },
		"fork":  func() message.Messages { return history.First(20).Fork().Append(added) },
		"new":   func() message.Messages { return message.MessagesOf(added) },
	} {
		known := newTaint()
		known.noteRequest("c", history.Append(message.UserText("first")))
		runtime.GC()
		assert.Empty(t, known.carries([]string{key}, said{}, false).secrets, name)
		known.noteRequest("c", next())
		assert.NotEmpty(t, known.carries([]string{key}, said{}, false).secrets, name)
	}
}
