package approval_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// TestRemembered: what was remembered can be looked at and forgotten, and then a
// person is asked again.
func TestRemembered(t *testing.T) {
	t.Parallel()
	dir, project := filepath.Join(t.TempDir(), "answers"), t.TempDir()
	all, err := approval.List(approval.Dir(dir))
	require.NoError(t, err)
	assert.Empty(t, all, "there is no directory yet")
	require.NoError(t, approval.Forget(approval.Dir(dir), "x"))

	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := says(remembering(yes, "call-agent"))
	a := approval.New(&approval.Options{Store: approval.Dir(dir), Project: project, Now: func() time.Time { return at }})
	where := newPlace(p, "helper", "conv")
	ls, rm := where.call(bash, `{"command":"ls"}`), where.call(bash, `{"command":"rm x"}`)
	verdict(t, a, ls)
	at = at.Add(time.Hour)
	p.answer = says(hook.ApprovalReply{Answer: hook.AnswerRefuse, Reason: "never", Remember: "call-project", By: "ann"}).answer
	verdict(t, a, rm)
	at = at.Add(time.Hour)
	p.answer = says(remembering(yes, "folder-project")).answer
	verdict(t, a, where.call(write, file("src/a.go")))

	all, err = approval.List(approval.Dir(dir))
	require.NoError(t, err)
	require.Len(t, all, 3)
	first := at.Add(-2 * time.Hour)
	assert.Len(t, all[0].ID, 32)
	assert.Equal(t, []approval.Remembered{
		{
			ID: all[0].ID, Answer: hook.AnswerApprove, Text: "exactly this call of bash, by the agent helper in this project, until it is forgotten",
			Project: project, Agent: "helper", Tool: "bash", Args: `{"command":"ls"}`, Reason: "it may change things", By: "ann", Since: first,
		},
		{
			ID: all[1].ID, Answer: hook.AnswerRefuse, Text: "exactly this call of bash, by every agent in this project, until it is forgotten",
			Project: project, Tool: "bash", Args: `{"command":"rm x"}`, Reason: "it may change things", Refusal: "never", By: "ann", Since: first.Add(time.Hour),
		},
		{
			ID: all[2].ID, Answer: hook.AnswerApprove, Project: project, Tool: "write", Folder: "src", Reason: "it may change things", By: "ann", Since: at,
			Text: "any call of write for any file below the folder src and its folders, build files and scripts included, hidden files and links excepted, whatever it writes, by every agent in this project, until it is forgotten",
		},
	}, all)

	assert.Equal(t, "rule", verdict(t, a, rm).By)
	require.NoError(t, approval.Forget(approval.Dir(dir), all[1].ID))
	require.NoError(t, approval.Forget(approval.Dir(dir), all[1].ID), "it is forgotten already")
	asked := p.count()
	p.answer = says(yes).answer
	assert.Equal(t, hook.AnswerApprove, verdict(t, a, rm).Kind)
	assert.Equal(t, asked+1, p.count(), "it is asked again")
	assert.Equal(t, "rule", verdict(t, a, ls).By, "the others stay")
	left, err := approval.List(approval.Dir(dir))
	require.NoError(t, err)
	assert.Len(t, left, 2)
}

// TestRememberedProblems: what cannot be used is shown, since it makes people be asked
// again, and can be forgotten like the rest.
func TestRememberedProblems(t *testing.T) {
	t.Parallel()
	dir, project := t.TempDir(), t.TempDir()
	a := approval.New(&approval.Options{Store: approval.Dir(dir), Project: project})
	verdict(t, a, newPlace(says(remembering(yes, "call-project")), "helper", "conv").call(bash, `{"command":"ls"}`))
	all, err := approval.List(approval.Dir(dir))
	require.NoError(t, err)
	require.Len(t, all, 1)
	text, err := os.ReadFile(filepath.Join(dir, "bash-"+all[0].ID+".json"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(dir, "bash-"+all[0].ID+".json")))
	for name, content := range map[string]string{
		"broken.json": "{", "copied.json": string(text), "neither.json": `{"answer":"perhaps"}`, "notes.txt": "x", ".new-1.json": "{",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "dir.json"), 0o700))
	all, err = approval.List(approval.Dir(dir))
	require.NoError(t, err)
	assert.Equal(t, []approval.Remembered{
		{ID: "broken", Problem: "unexpected end of JSON input"},
		{ID: "copied", Problem: "it is about something else than its name says"},
		{ID: "neither", Problem: `answer is "perhaps"; it is approve or refuse`},
	}, all)
	for _, id := range []string{"broken", "../broken", "dir", "notes"} {
		require.NoError(t, approval.Forget(approval.Dir(dir), id))
	}
	all, err = approval.List(approval.Dir(dir))
	require.NoError(t, err)
	assert.Len(t, all, 2)
	for _, name := range []string{"dir.json", "notes.txt"} {
		_, err := os.Stat(filepath.Join(dir, name))
		assert.NoError(t, err, "it is none of ours")
	}

	_, err = approval.List(approval.Dir(filepath.Join(dir, "copied.json")))
	assert.ErrorContains(t, err, "list remembered answers: ")
}
