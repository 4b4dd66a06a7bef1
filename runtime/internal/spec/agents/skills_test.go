package agents_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/skills"
)

// What a skill changes for the rest of a turn, it changes for the rest of the turn in another process as well: its tools and
// its model reach the loop through what a tool has set.
func TestSpecAResumedTurnStaysNarrowedByItsSkill(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(files, "careful"), 0o700))
	file := filepath.Join(files, "careful", "SKILL.md")
	require.NoError(t, os.WriteFile(file, []byte("---\nname: careful\ndescription: D.\nallowed-tools: look\nmodel: small\n---\nLook.\n"), 0o600))
	library := func() *skills.Skills { return skills.New(&skills.Options{Dirs: []string{files}}) }
	look, pay := rig.NewGate("look"), rig.Named("pay")
	first := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("c1", "skill", `{"name":"careful"}`)), rig.Calls(rig.Call("c2", "look", `{}`))), runtime.Options{}, rig.Box(look.Tool, pay), library())
	first.Sends("go")
	<-look.Reached
	first.Dies()
	require.NoError(t, os.WriteFile(file, []byte("---\nname: careful\ndescription: D.\n---\nDo anything.\n"), 0o600))

	close(look.Open)
	m := rig.Plays(rig.Calls(rig.Call("c3", "pay", `{}`)), rig.Says("done"))
	second := rig.Boot(t, dir, m, runtime.Options{}, rig.Box(look.Tool, pay), library())
	second.Resumes()
	require.NoError(t, second.Ends().Returned)
	require.Len(t, m.Requests, 2)
	assert.Equal(t, "small", m.Requests[0].Model.Name)
	assert.Equal(t, []string{"look", "skill"}, toolNames(m.Requests[0].Tools))
	lines := second.History()
	assert.Equal(t, `tool c3 pay denied: not allowed in this turn: the skill "careful" allows only look`, lines[len(lines)-2], "what the file said when the skill was loaded counts")

	second.Send("again")
	assert.Equal(t, []string{"look", "pay", "skill"}, toolNames(m.Requests[2].Tools), "the next turn is another one")
}
