package skills_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/subsystems/skills"
)

// around is what a prompt has besides the entries of skills.
const around = 600

// many makes n skills whose descriptions have size characters.
func many(t *testing.T, prefix string, n, size int) string {
	files := map[string]string{}
	for i := range n {
		name := fmt.Sprintf("%s-%03d", prefix, i)
		files[name+"/SKILL.md"] = md(name, strings.Repeat("word ", size/5), "x")
	}
	return folder(t, files)
}

func TestTheListOfSkillsIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		n, size        int
		listed         int
		place, warning string
	}{
		{"a few", 10, 300, 10, "<location>", ""},
		{"many", 181, 470, 181, "", "the descriptions of 181 skills are cut at "},
		{"too many", 600, 470, 220, "", " skills are not listed in prompts, because the list has 16384 bytes at most: s-2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := in(many(t, "s", c.n, c.size))
			prompt := s.SystemPrompt(&hook.AgentConfig{Name: "a"})
			assert.Less(t, len(prompt), skills.DefaultMaxList+around)
			assert.InDelta(t, c.listed, strings.Count(prompt, "- s-")+strings.Count(prompt, "<name>"), 20)
			if c.warning == "" {
				assert.Empty(t, s.Warnings())
				assert.Contains(t, prompt, c.place)
				return
			}
			require.Len(t, s.Warnings(), 1)
			assert.Contains(t, s.Warnings()[0], c.warning)
			assert.Contains(t, s.Warnings()[0], "give agents the skills that they need")
			assert.Greater(t, len(prompt), skills.DefaultMaxList*3/4, "the room is used")
		})
	}
}

// TestTheProjectsSkillsAreListedFirst: where skills are left out, they are those of the
// last sources; the model is told how to find them.
func TestTheProjectsSkillsAreListedFirst(t *testing.T) {
	t.Parallel()
	s := skills.New(&skills.Options{Dirs: []string{many(t, "z", 10, 300), many(t, "a", 50, 300)}, MaxList: 1000})
	prompt := s.SystemPrompt(&hook.AgentConfig{Name: "a"})
	assert.Contains(t, prompt, "z-009")
	assert.NotContains(t, prompt, "a-049")
	assert.Contains(t, prompt, " more skills are not listed. To find one, call skill with a word of the task as the name")
	assert.Less(t, len(prompt), 1000+around)

	cfg := hook.AgentConfig{Name: "a"}.WithSection("skills", `{"max_list": 100000}`)
	assert.Contains(t, s.SystemPrompt(&cfg), "a-049", "an agent can have more room")
	cfg = cfg.WithSection("skills", `{"max_list": -1}`)
	_, err := s.OnBuildAgent(t.Context(), cfg)
	assert.EqualError(t, err, `agent "a": section skills: max_list is -1; write a number of bytes, or leave it out`)
}
