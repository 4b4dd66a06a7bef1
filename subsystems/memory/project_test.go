package memory_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/subsystems/memory"
)

// in opens the file for a project.
func in(t *testing.T, path, project string) *memory.Memory {
	t.Helper()
	m, err := memory.Open(t.Context(), path, &memory.Options{Project: project})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, m.OnClose(context.Background())) })
	return m
}

func TestAProjectHasMemoriesOfItsOwn(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, k kind) {
		path := filepath.Join(t.TempDir(), "memory.db")
		one, two := k.in(t, path, "/one"), k.in(t, path, "/two")
		for _, section := range []string{``, `{"space":"crew"}`} {
			a, b := as(t, one, "a", section), as(t, two, "a", section)
			a.remember("boat", "canary of one")
			assert.Equal(t, "no memories found", b.recall("canary boat"))
			assert.Equal(t, "no memories found", b.recall(""))
			assert.Equal(t, message.FailNotFound, b.call("forget", map[string]any{"name": "boat"}).Failure)
			b.remember("boat", "of two")
			assert.Equal(t, "## boat\ncanary of one", a.recall("boat"), "two has replaced its own only")
		}
	})
}

func TestTheMemoriesOfTheUserAreInAllProjects(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, k kind) {
		path := filepath.Join(t.TempDir(), "memory.db")
		one, two := k.in(t, path, "/one"), k.in(t, path, "/two")
		user, shared := `{"scope":"user"}`, `{"scope":"user","space":"crew"}`
		as(t, one, "a", user).remember("boat", "Green.")
		assert.Equal(t, "## boat\nGreen.", as(t, two, "a", user).recall("boat"))
		for who, c := range map[string]caller{
			"the same agent in its project": as(t, one, "a", ""), "another agent": as(t, two, "b", user),
			"a space": as(t, two, "a", shared), "no project": as(t, k.in(t, path, ""), "a", ""),
			"a space that is called like it": as(t, two, "a", `{"space":"user"}`), "an agent that is called like it": as(t, k.in(t, path, ""), "user:agent:a", ""),
		} {
			assert.Equal(t, "no memories found", c.recall("boat"), who)
		}
		as(t, one, "a", shared).remember("port", "Red.")
		assert.Equal(t, "## port\nRed.", as(t, two, "b", shared).recall("port"))
	})
}

// said is one call of remember in a conversation, first asked about, then run.
type said struct {
	m    *memory.Memory
	call *hook.ToolCall
}

func says(t *testing.T, m *memory.Memory, conversation, name, content string) said {
	t.Helper()
	agent := hooktest.Agent(hook.AgentConfig{Name: "a"})
	turn, _ := hook.NewTurn(hook.TurnData{
		ID: "t-" + conversation, Conversation: hook.NewConversation(hook.ConversationData{ID: conversation, Agent: agent}),
	})
	args := message.JSON(fmt.Sprintf(`{"name":%q,"content":%q}`, name, content))
	return said{m, hooktest.Call(hooktest.Step(turn), "remember", args)}
}

func (s said) asked(t *testing.T) hook.Verdict {
	t.Helper()
	d, err := s.m.BeforeTool(t.Context(), s.call)
	require.NoError(t, err)
	return d.Verdict()
}

func (s said) run(t *testing.T) message.ToolResult {
	t.Helper()
	return hooktest.Invoke(t.Context(), s.m, s.call)
}

func TestReplacingWhatAnotherConversationWroteIsAskedAbout(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, k kind) {
		m := k.in(t, filepath.Join(t.TempDir(), "memory.db"), "/one")
		first := says(t, m, "c1", "boat", "Green.")
		assert.Empty(t, first.asked(t).Kind, "there is nothing to replace")
		assert.Equal(t, "remembered boat", first.run(t).Text())
		own := says(t, m, "c1", "boat", "Blue.")
		assert.Empty(t, own.asked(t).Kind, "a conversation replaces its own")
		assert.Equal(t, "replaced what was remembered as boat", own.run(t).Text())

		other := says(t, m, "c2", " BOAT ", "Red.")
		v := other.asked(t)
		assert.Equal(t, hook.AnswerAsk, v.Kind)
		assert.Equal(t, `it replaces what another conversation has remembered as "BOAT"`, v.Reason)
		assert.Equal(t, "replaced what was remembered as BOAT", other.run(t).Text(), "a person has agreed to it")
		assert.Equal(t, hook.AnswerAsk, says(t, m, "c1", "boat", "x").asked(t).Kind, "it is c2's now")
		assert.Empty(t, says(t, m, "c2", "boat", "x").asked(t).Kind)
		assert.Empty(t, says(t, m, "c1", "port", "x").asked(t).Kind)
	})
}

// What is run is what was asked about: what another conversation writes in between is
// not replaced.
func TestWhatIsWrittenBetweenAskingAndRunningIsKept(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, k kind) {
		m := k.in(t, filepath.Join(t.TempDir(), "memory.db"), "/one")
		unasked, replaced := says(t, m, "c2", "boat", "Red."), says(t, m, "c3", "boat", "Red.")
		assert.Empty(t, unasked.asked(t).Kind)
		says(t, m, "c1", "boat", "Green.").run(t)
		r := unasked.run(t)
		assert.Equal(t, message.FailDenied, r.Failure)
		assert.Contains(t, r.Text(), "another conversation has remembered something as boat in the meantime")

		assert.Equal(t, hook.AnswerAsk, replaced.asked(t).Kind)
		says(t, m, "c1", "boat", "Blue.").run(t)
		assert.Equal(t, message.FailDenied, replaced.run(t).Failure, "it is another text than the one that was asked about")
		assert.Equal(t, message.FailDenied, says(t, m, "c4", "boat", "Red.").run(t).Failure, "nobody was asked at all")
		assert.Equal(t, "## boat\nBlue.", as(t, m, "a", "").recall("boat"))
	})
}

// version1 is a file of version 1 with a memory of an agent and one of a space.
func version1(t *testing.T) string {
	t.Helper()
	step, err := os.ReadFile("schema/1.sql")
	require.NoError(t, err)
	rows := `
INSERT INTO space VALUES (1, 'agent:a'), (2, 'space:crew');
INSERT INTO memory VALUES ((1 << 40) + 1, 1, 'boat', 'Boat', '["yacht"]', 'Green.', 1778051289000000000, 1778051290000000000),
	((2 << 40) + 1, 2, 'port', 'port', '[]', 'Red.', 1778051291000000000, 1778051291000000000);
INSERT INTO word (rowid, name, aliases, content) VALUES ((1 << 40) + 1, 'Boat', 'yacht', 'Green.'), ((2 << 40) + 1, 'port', '', 'Red.');`
	path := filepath.Join(t.TempDir(), "memory.db")
	db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Schema{Name: "memory file", ID: 0x4752416d, Steps: []string{string(step) + rows}})
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return path
}

func TestMemoriesFromBeforeProjectsAreAdoptedOnRequest(t *testing.T) {
	t.Parallel()
	path := version1(t)
	mine, ctx := in(t, path, "/mine"), t.Context()
	a := as(t, mine, "a", "")
	assert.Equal(t, "no memories found", a.recall("boat"))
	all, err := mine.ListAll(ctx)
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, []any{"", "agent a", "Boat", "Green."}, []any{all[0].Project, all[0].Of, all[0].Name, all[0].Content})
	assert.Equal(t, []any{"", "space crew", "port"}, []any{all[1].Project, all[1].Of, all[1].Name})

	as(t, mine, "a", `{"space":"crew"}`).remember("port", "mine")
	moved, kept, err := mine.Adopt(ctx, "")
	require.NoError(t, err)
	assert.Equal(t, []int{1, 1}, []int{moved, kept}, "a name that is taken here stays where it is")
	assert.Equal(t, "## Boat\nGreen.", a.recall("yacht"))
	assert.Equal(t, "## port\nmine", as(t, mine, "a", `{"space":"crew"}`).recall("port"))
	assert.Equal(t, "## port\nRed.", as(t, in(t, path, ""), "a", `{"space":"crew"}`).recall("red"), "nothing is lost")
	assert.Equal(t, hook.AnswerAsk, says(t, mine, "c1", "boat", "x").asked(t).Kind, "nobody knows who wrote it")
	moved, kept, err = mine.Adopt(ctx, "/mine")
	require.NoError(t, err)
	assert.Equal(t, []int{0, 0}, []int{moved, kept})
}

func TestTheMemoriesOfTheUserAreNotAdopted(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, k kind) {
		path := filepath.Join(t.TempDir(), "memory.db")
		user := as(t, k.in(t, path, "/one"), "a", `{"scope":"user"}`)
		user.remember("boat", "Green.")
		mine := k.in(t, path, "/mine")
		moved, _, err := mine.Adopt(t.Context(), "")
		require.NoError(t, err)
		assert.Zero(t, moved)
		assert.Equal(t, "## boat\nGreen.", user.recall("boat"))
		all, err := mine.List(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		assert.Equal(t, []any{true, "agent a"}, []any{all[0].User, all[0].Of})
	})
}
