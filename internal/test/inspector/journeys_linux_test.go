package inspector_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// quiet is a model that says one thing.
const quiet = "rules:\n- {when: always, say: Hello.}\n"

func TestDoor(t *testing.T) {
	s := serve(t, map[string]string{"model.yaml": quiet})
	s.play("door", nil)
}

// mooring is a model that runs a command which hides a part of itself, and says what came of it.
const mooring = `rules:
- when: {result: {tool: bash, failed: true, contains: not in the harbour}}
  say: I leave it, as you said.
- when: {result: bash}
  say: It is moored.
- when: always
  say: I moor.
  calls: [{tool: bash, args: {command: "printf moored > moored.txt # \u202etxt.derroom"}}]
`

func TestApprove(t *testing.T) {
	s := serve(t, map[string]string{"model.yaml": mooring}, "--sandbox", "off")
	talk := s.talk("Moor the boat.")
	s.play("approve", does{"begin": talk.begin, "ended": talk.ended("It is moored.")})
	text, err := os.ReadFile(filepath.Join(s.project, "moored.txt"))
	require.NoError(t, err)
	assert.Equal(t, "moored", string(text))
}

func TestRefuse(t *testing.T) {
	s := serve(t, map[string]string{"model.yaml": mooring}, "--sandbox", "off")
	talk := s.talk("Moor the boat.")
	s.play("refuse", does{"begin": talk.begin, "ended": talk.ended("I leave it, as you said.")})
	assert.NoFileExists(t, filepath.Join(s.project, "moored.txt"))
}

func TestQuestion(t *testing.T) {
	s := serve(t, map[string]string{"model.yaml": `rules:
- when: {result: {tool: ask_user, contains: the harbour master}}
  say: "Then I write that: ${result:ask_user}"
- when: always
  say: I ask.
  calls:
    - tool: ask_user
      args:
        questions:
          - {question: 'What is the summary to end with?', header: Ending, options: [{label: the grapnel, description: how it held}, {label: the weather}]}
          - {question: 'Who is to read it?', header: Reader, options: [{label: nobody}, {label: everybody}]}
`})
	talk := s.talk("Write the summary.")
	s.play("question", does{"begin": talk.begin, "ended": talk.ended("the grapnel")})
}

// talked is a conversation that the test has with an agent, beside the page.
type talked struct {
	s        *stage
	id, text string
}

// talk opens a conversation in which the text is said once begin is called.
func (s *stage) talk(text string) *talked {
	s.t.Helper()
	c, err := s.client.Conversation(s.t.Context(), "", "a sailor")
	require.NoError(s.t, err)
	return &talked{s, c.ID, text}
}

func (k *talked) begin() (string, error) {
	_, err := k.s.client.Send(k.s.t.Context(), k.id, k.text)
	return k.id, err
}

// ended waits until no turn runs, and returns the last reply, which has the text.
func (k *talked) ended(text string) func() (string, error) {
	return func() (string, error) {
		ctx, cancel := context.WithTimeout(k.s.t.Context(), 20*time.Second)
		defer cancel()
		for {
			c, err := k.s.client.ConversationByID(ctx, k.id)
			if err != nil {
				return "", err
			}
			if c.Turn == "" {
				break
			}
			time.Sleep(20 * time.Millisecond) // the daemon has no call that waits
		}
		messages, err := k.s.client.Messages(ctx, k.id)
		if err != nil || len(messages) == 0 {
			return "", errors.Join(err, errors.New("no messages"))
		}
		last := messages[len(messages)-1].Text()
		if !strings.Contains(last, text) {
			return "", fmt.Errorf("the last message is %q, without %q", last, text)
		}
		return last, nil
	}
}
