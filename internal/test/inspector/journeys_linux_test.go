package inspector_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
)

// quiet is a model that says one thing.
const quiet = "rules:\n- {when: always, say: Hello.}\n"

func TestDoor(t *testing.T) {
	s := serve(t, map[string]string{"model.yaml": quiet})
	s.play("door", nil)
}

// TestDenied: a reader who has never seen the page finds in a few clicks why a call was denied and by whom. With -update the last page
// becomes the picture of the README.
func TestDenied(t *testing.T) {
	s := demo(t)
	var env []string
	if *updateFlag {
		picture, err := filepath.Abs(filepath.Join(module, "docs", "inspector.png"))
		require.NoError(t, err)
		env = append(env, "PICTURE="+picture)
	}
	s.play("denied", nil, env...)
}

// TestPlan: the plan lights up while a turn passes, and two runs of one message are compared.
func TestPlan(t *testing.T) {
	s := demo(t)
	k := s.talkTo("skipper", "What do the notices to mariners say?")
	s.play("plan", does{
		"begin": k.begin,
		"ended": func() (string, error) {
			if err := k.approve(); err != nil {
				return "", err
			}
			if _, err := k.ended("No anchoring in the sound")(); err != nil {
				return "", err
			}
			mine, err := k.lastTurn(k.id)
			if err != nil {
				return "", err
			}
			all, err := s.client.Conversations(t.Context())
			if err != nil {
				return "", err
			}
			for _, c := range all {
				if c.ID != k.id && c.Title == k.text {
					other, err := k.lastTurn(c.ID)
					return strings.Join([]string{k.id, mine, c.ID, other}, " "), err
				}
			}
			return "", errors.New("the demo has no turn of the same message")
		},
	})
}

// denies are the files of a project whose policy denies what the model wants.
var denies = map[string]string{
	"chart.txt":            "Here be shoals.\n",
	".grapnel/policy.json": `{"deny": ["Read(chart.txt)"]}`,
	"model.yaml": `rules:
- {when: {result: read}, say: I have looked.}
- {when: always, say: I look., calls: [{tool: read, args: {file_path: chart.txt}}]}
`,
}

// TestLayers: a message is said over two layers, of which the second one turns off who denied the call, and the runs are compared.
func TestLayers(t *testing.T) {
	s := serve(t, denies)
	var runs []string
	run := func() {
		k := s.talk("What does the chart say?")
		_, err := k.begin()
		require.NoError(t, err)
		_, err = k.ended("I have looked")()
		require.NoError(t, err)
		turn, err := k.lastTurn(k.id)
		require.NoError(t, err)
		runs = append(runs, k.id, turn)
	}
	run()
	s.kill()
	s.args = append(s.args, "--set", "Policy=off")
	s.start("127.0.0.1:0")
	run()
	s.play("layers", does{"runs": func() (string, error) { return strings.Join(runs, " "), nil }})
}

// TestUnrecorded: a daemon that records no hook runs still says who denied a call, and how more becomes known.
func TestUnrecorded(t *testing.T) {
	s := serve(t, denies)
	s.kill()
	s.args = slices.DeleteFunc(s.args, func(arg string) bool { return arg == "--hooks" })
	s.start("127.0.0.1:0")
	k := s.talk("What does the chart say?")
	s.play("unrecorded", does{"denied": func() (string, error) {
		if _, err := k.begin(); err != nil {
			return "", err
		}
		if _, err := k.ended("I have looked")(); err != nil {
			return "", err
		}
		turn, err := k.lastTurn(k.id)
		return k.id + " " + turn, err
	}})
}

// TestTabs: more tabs are open than a browser has connections to one host.
func TestTabs(t *testing.T) {
	files := maps.Clone(denies)
	files[".grapnel/policy.json"] = `{"ask": ["Read(chart.txt)"]}`
	s := serve(t, files)
	k := s.talk("What does the chart say?")
	s.play("tabs", does{"begin": k.begin, "ended": func() (string, error) {
		if err := k.approve(); err != nil {
			return "", err
		}
		return k.ended("I have looked")()
	}})
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
func (s *stage) talk(text string) *talked { return s.talkTo("", text) }

func (s *stage) talkTo(agent, text string) *talked {
	s.t.Helper()
	c, err := s.client.Conversation(s.t.Context(), agent, "a sailor")
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

// approve approves what the conversation waits for, as soon as it does.
func (k *talked) approve() error {
	ctx, cancel := context.WithTimeout(k.s.t.Context(), 20*time.Second)
	defer cancel()
	for {
		asks, err := k.s.client.Asks(ctx, k.id)
		if err != nil {
			return err
		}
		if len(asks) > 0 {
			return k.s.client.Answer(ctx, asks[0].ID, wire.Answer{Answer: "approve"})
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// lastTurn is the id of the last turn of a conversation.
func (k *talked) lastTurn(id string) (string, error) {
	return k.s.plainly("GET", "/v1/conversations/"+id+"/turns?limit=1", "", "turns", "id")
}

// TestRounds: every view says what it is for, and can be read by everybody; a memory is edited and forgotten.
func TestRounds(t *testing.T) {
	demo(t).play("rounds", nil)
}
