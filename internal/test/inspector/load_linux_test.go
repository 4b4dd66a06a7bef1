package inspector_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// line is a message as an export has it.
type line map[string]any

// says is a message that is a text.
func says(role, text string) line {
	return line{"role": role, "content": []line{{"kind": "text", "text": text}}}
}

// imported makes a conversation of the messages, of which those of the user begin turns.
func (s *stage) imported(messages []line) string {
	s.t.Helper()
	var lines bytes.Buffer
	turn := 0
	write := json.NewEncoder(&lines)
	for _, m := range messages {
		if m["role"] == "user" {
			turn++
		}
		require.NoError(s.t, write.Encode(line{"turn": turn, "message": m}))
	}
	head := fmt.Sprintf(`{"format":"grapnel conversation","version":1,"agent":"grapnel","sender":"a traveller with %d messages","created":"2026-11-01T00:00:00Z","turns":%d,"archived":0,"messages":%d}`+"\n", len(messages), turn, len(messages))
	c, err := s.client.Import(s.t.Context(), bytes.NewReader(append([]byte(head), lines.Bytes()...)), "", "")
	require.NoError(s.t, err)
	return c.ID
}

// TestLoad: 10,000 messages and more than 1,000 events a second leave the page quick, whose figures are in the log.
func TestLoad(t *testing.T) {
	s := serve(t, map[string]string{"model.yaml": `context_window: 100000000
rules:
- when: always
  pace: {delta: 80us, bytes: 6}
  say: "` + string(bytes.Repeat([]byte("stream on, "), 60_000)) + `"
`})
	messages := make([]line, 10_000)
	for i := range messages {
		messages[i] = says("user", fmt.Sprintf("message %d: what comes next?", i))
		if i%2 == 1 {
			messages[i] = says("assistant", fmt.Sprintf("message %d: **more** of it.\n\n- a list\n- with `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", i))
		}
	}
	id := s.imported(messages)
	k := &talked{s, id, "Speak."}
	var events atomic.Int64
	var began atomic.Int64 // when the first came, so many behind the beginning of the turn
	const first = 20
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Go(func() {
		for _, err := range s.client.Events(ctx, id, "") {
			if err == nil && events.Add(1) == first {
				began.Store(time.Now().UnixNano())
			}
		}
	})
	s.play("load", does{
		"conversation": func() (string, error) { return id, nil },
		"burst": func() (string, error) {
			return k.begin()
		},
		"rate": func() (string, error) {
			c, err := s.client.ConversationByID(ctx, id)
			if err == nil && c.Turn == "" {
				err = fmt.Errorf("the turn ended before the test did, after %d events", events.Load())
			}
			return fmt.Sprint(int(float64(events.Load()-first) / time.Since(time.Unix(0, began.Load())).Seconds())), err
		},
	})
}
