package visits_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

const module = "github.com/grapnel-go/grapnel/"

// turns are counted after warm more, which read the history. A statement that visits a tenth of
// what has grown at each turn is found.
const warm, turns = 2, 10

// asked is why a composite that was not generated visits its hooks: it cannot tell the Preprocess
// and OnEvent of hook.Nop from a hook's own, so it calls both.
const asked = "Preprocess and OnEvent of every hook"

func TestNothingWalks(t *testing.T) {
	needs.Time(t)
	program := build(t, ".", "../../../runtime", "../../../composite", "../../../runtime/store/mem")
	small := size{messages: 100, tools: 1, hooks: 1, conversations: 10}
	change := func(f func(*size)) size { s := small; f(&s); return s }
	base := visited(t, program, small, false)
	for name, tc := range map[string]struct {
		large  size
		growth int
		// walks has, by file, the reason why something is visited.
		walks map[string]string
	}{
		"messages": {large: change(func(s *size) { s.messages = 10_000 }), growth: 9_900},
		"tools":    {large: change(func(s *size) { s.tools = 512 }), growth: 511},
		"hooks": {large: change(func(s *size) { s.hooks = 64 }), growth: 63, walks: map[string]string{
			"composite/walk.go": asked, "composite/walk_hook.go": asked, "composite/isolate.go": asked, "hook/hook.go": asked,
		}},
		"conversations": {large: change(func(s *size) { s.conversations = 10_000 }), growth: 9_990},
	} {
		for place, n := range visited(t, program, tc.large, false) {
			if file, _, _ := strings.Cut(place, ":"); tc.walks[file] == "" {
				assert.Less(t, n-base[place], tc.growth, "%d turns over more %s: the statement at %s runs more often", turns, name, place)
			}
		}
	}
	t.Run("known-bad", func(t *testing.T) {
		bad, was := visited(t, program, change(func(s *size) { s.messages = 10_000 }), true), visited(t, program, small, true)
		origin := 0
		for place, n := range bad {
			if strings.HasPrefix(place, "hook/message/content.go:") && n-was[place] >= 9_900 {
				origin++
			}
		}
		assert.Positive(t, origin, "the walk of before, over the origins of all messages, is not found")
	})
}

// TestNothingWalksInTheDaemon lets a conversation of the daemon's composite grow: the average turn of
// 2,000 may visit what one of 200 does.
func TestNothingWalksInTheDaemon(t *testing.T) {
	needs.Proof(t)
	program := build(t, "../composites", "../../app")
	few, many := grown(t, program, 200), grown(t, program, 2000)
	for place, n := range many {
		assert.Less(t, n/2000-few[place]/200, 50, "the statement at %s runs more often in each turn", place)
	}
}

// grown returns how often each statement runs in that many turns of one conversation.
func grown(t *testing.T, program string, turns int) map[string]int {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	run(t, nil, program, "-test.run=^$", "-test.bench=^BenchmarkWhole$/^calls=1$", fmt.Sprintf("-test.benchtime=%dx", turns), "-test.coverprofile="+profile)
	return read(t, profile)
}

// build builds the test of a package with counters in all packages of the module that the others need.
func build(t *testing.T, dir string, of ...string) string {
	t.Helper()
	var counted []string
	for _, d := range strings.Fields(run(t, nil, "go", append([]string{"list", "-deps"}, of...)...)) {
		if strings.HasPrefix(d, module) {
			counted = append(counted, d)
		}
	}
	program := filepath.Join(t.TempDir(), "visits.test")
	run(t, nil, "go", "test", "-c", "-o", program, "-covermode=atomic", "-coverpkg="+strings.Join(counted, ","), dir)
	return program
}

// visited returns how often each statement runs in the turns.
func visited(t *testing.T, program string, s size, walk bool) map[string]int {
	t.Helper()
	counts := counted(t, program, s, walk, warm+turns)
	for place, n := range counted(t, program, s, walk, warm) {
		counts[place] -= n
	}
	return counts
}

func counted(t *testing.T, program string, s size, walk bool, turns int) map[string]int {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	env := fmt.Sprintf("VISITS=%d %t %d %d %d %d", turns, walk, s.messages, s.tools, s.hooks, s.conversations)
	run(t, []string{env}, program, "-test.run=^TestTurns$", "-test.coverprofile="+profile)
	return read(t, profile)
}

// read returns the counts of a profile, by place.
func read(t *testing.T, profile string) map[string]int {
	t.Helper()
	text, err := os.ReadFile(profile)
	require.NoError(t, err)
	counts := map[string]int{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line) // file:from,to statements count
		if len(fields) != 3 {
			continue
		}
		n, err := strconv.Atoi(fields[2])
		require.NoError(t, err)
		counts[strings.TrimPrefix(fields[0], module)] += n
	}
	require.NotEmpty(t, counts)
	return counts
}

func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", name, out)
	return string(out)
}
