package inspector_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
)

// sailing is a model that counts slowly, can be steered, and writes a file.
var sailing = `rules:
- when: {system: You write the summary}
  say: They sailed.
- when: {result: write}
  say: It is written.
- when: {user: Write the log}
  say: I write.
  calls: [{tool: write, args: {file_path: log.txt, content: "calm\n"}}]
- when: {user: Turn to port}
  say: To port, as you say.
- when: {user: {matches: 'slowly|Sail on'}, step: 1}
  pace: 50ms
  say: ` + words() + `
  calls: [{tool: glob, args: {pattern: "*.md"}}]
- when: {result: glob}
  say: That was all.
- when: {user: {matches: '(?P<said>.+)'}}
  say: "Aye: ${said}"
`

func words() string {
	var b strings.Builder
	for i := range 60 {
		b.WriteString("word-" + string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10)) + " ")
	}
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "word-0", "word-")
}

// TestTalk: a conversation is begun in the page, the reply grows, and it is found again.
func TestTalk(t *testing.T) {
	s := serve(t, map[string]string{"model.yaml": sailing})
	k := s.talk("the anchorage is safe")
	s.play("talk", does{"other": func() (string, error) {
		if _, err := k.begin(); err != nil {
			return "", err
		}
		return k.ended("Aye: the anchorage is safe")()
	}})
}

// TestAct: what can be done to a conversation and its turns is done in the page, and has happened.
func TestAct(t *testing.T) {
	s := serve(t, map[string]string{"model.yaml": sailing}, "--sandbox", "off")
	k := s.talk("")
	log := filepath.Join(s.project, "log.txt")
	s.play("act", does{
		"conversation": func() (string, error) { return k.id, nil },
		"approve":      func() (string, error) { return "", k.approve() },
		"written": func() (string, error) {
			_, err := os.Stat(log)
			return "", err
		},
		"undone": func() (string, error) {
			if _, err := os.Stat(log); !errors.Is(err, os.ErrNotExist) {
				return "", errors.New("the file is still there")
			}
			return "", nil
		},
		"deleted": func() (string, error) {
			_, err := s.client.ConversationByID(t.Context(), k.id)
			if client.CodeOf(err) != wire.CodeNotFound {
				return "", errors.New("the conversation is still there")
			}
			return "", nil
		},
	})
}
