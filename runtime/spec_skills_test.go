package runtime_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	look, pay := newGate("look"), named("pay")
	first := boot(t, dir, plays(calls(want{"c1", "skill", `{"name":"careful"}`}), calls(want{"c2", "look", `{}`})), runtime.Options{}, box(look.tool, pay), library())
	first.sends("go")
	<-look.reached
	first.dies()
	require.NoError(t, os.WriteFile(file, []byte("---\nname: careful\ndescription: D.\n---\nDo anything.\n"), 0o600))

	close(look.open)
	m := plays(calls(want{"c3", "pay", `{}`}), says("done"))
	second := boot(t, dir, m, runtime.Options{}, box(look.tool, pay), library())
	second.resumes()
	require.NoError(t, second.ends().err)
	require.Len(t, m.requests, 2)
	assert.Equal(t, "small", m.requests[0].Model.Name)
	assert.Equal(t, []string{"look", "skill"}, toolNames(m.requests[0].Tools))
	lines := second.history()
	assert.Equal(t, `tool c3 pay denied: not allowed in this turn: the skill "careful" allows only look`, lines[len(lines)-2], "what the file said when the skill was loaded counts")

	second.send("again")
	assert.Equal(t, []string{"look", "pay", "skill"}, toolNames(m.requests[2].Tools), "the next turn is another one")
}
