package gen_test

import (
	"bytes"
	"math/rand/v2"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/grapnel-go/grapnel/gen"
	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// shuffled returns a scenario whose files are written in the order of chance. Those that generated code does not name and whose
// order among themselves is no declaration's are called something else.
func (s *scenario) shuffled(chance *rand.Rand, rename map[string]string) *scenario {
	files := slices.Clone(s.archive.Files)
	chance.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	for i, f := range files {
		if name := rename[path.Join(s.name, f.Name)]; name != "" {
			files[i].Name = name
		}
	}
	return &scenario{s.name, &txtar.Archive{Files: files}}
}

// spread is a package whose parts lie in several files, of which one has what is generated for.
var spread = &scenario{"spread", txtar.Parse([]byte(`-- p.go --
package p

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

// S has a tool.
type S struct{ hook.Nop }

// Do does.
//
//hook:tool
func (*S) Do(context.Context, In) (Out, error) { return Out{}, nil }

// All has S.
//
//hook:composite
type All struct{ S S }
-- in.go --
package p

// In is taken.
type In struct {
	// Kind of it.
	Kind Kind "json:\"kind\""
	// Part of it.
	Part Part "json:\"part\""
}
-- kind.go --
package p

// Kind is a kind.
type Kind string

// The kinds.
const (
	B Kind = "b"
	A Kind = "a"
)
-- part.go --
package p

// Part is a part.
type Part struct {
	// N counts.
	N int
}

// Out is returned.
type Out struct{ M map[string]Part }
-- point.go --
package p

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

// OnOpen implements hook.OnOpen.
func (*S) OnOpen(context.Context, hook.Host) error { return nil }
`))}

// judged is what a check says: the texts by path in the module, and the messages as they are printed.
func judged(t *testing.T, module, dir string, patterns []string) (map[string]string, string) {
	t.Helper()
	result, err := gen.Run(t.Context(), gen.Options{Dir: dir, Patterns: patterns, Check: true})
	require.NoError(t, err)
	texts := map[string]string{}
	for name, text := range result.Texts {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		rel, err := filepath.Rel(module, name)
		require.NoError(t, err)
		texts[filepath.ToSlash(rel)] = string(text)
	}
	var stderr bytes.Buffer
	require.NoError(t, (&diag.Printer{Source: diag.Files(dir)}).Print(&stderr, result.Problems))
	return texts, stderr.String()
}

// named returns scenarios and the patterns of their directories.
func named(t *testing.T, names ...string) ([]*scenario, []string) {
	t.Helper()
	all, found, patterns := scenarios(t), []*scenario{spread}, []string{"./spread/..."}
	for _, name := range names {
		i := slices.IndexFunc(all, func(s *scenario) bool { return s.name == name })
		require.GreaterOrEqual(t, i, 0, name)
		found, patterns = append(found, all[i]), append(patterns, "./"+name+"/...")
	}
	return found, patterns
}

// The same source gives the same bytes and the same messages in the same order, whatever the number of processors, the order of
// the patterns, the place of the module and the directory of the run, the order and the names of the files; and what was generated
// is what a check wants.
func TestDeterminism(t *testing.T) {
	const seed = 4
	chance := rand.New(rand.NewPCG(seed, seed))
	some, patterns := named(t, "composite", "generic_tools", "policy_defaults", "compose", "same_names", "warnings", "schema_enum")
	first := newModule(t, some...)
	want, said := judged(t, first, first, patterns)
	require.Greater(t, len(want), len(some))
	require.Contains(t, said, "warning HG")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for i := range 20 {
		runtime.GOMAXPROCS([]int{1, 2, 8}[i%3])
		chance.Shuffle(len(patterns), func(i, j int) { patterns[i], patterns[j] = patterns[j], patterns[i] })
		texts, messages := judged(t, first, first, patterns)
		require.Equal(t, want, texts, "run %d: %v", i, patterns)
		require.Equal(t, said, messages, "run %d: %v", i, patterns)
	}
	var moved []*scenario
	rename := map[string]string{
		"spread/in.go": "zz.go", "spread/kind.go": "aa.go", "spread/part.go": "Q.go", "spread/point.go": "a1.go",
	}
	for _, s := range some {
		moved = append(moved, s.shuffled(chance, rename))
	}
	second := newModule(t, moved...)
	texts, messages := judged(t, second, second, []string{"./..."})
	assert.Equal(t, want, texts, "elsewhere")
	assert.Equal(t, said, messages, "elsewhere")
	texts, _ = judged(t, second, filepath.Join(second, "composite", "a"), []string{"../../...", "."})
	assert.Equal(t, want, texts, "from below")

	result, _ := run(t, second, false)
	assert.Len(t, result.Changes, len(want))
	assert.Equal(t, want, outputs(t, second), "what is written is what was told")
	result, _ = run(t, second, true)
	assert.Empty(t, result.Changes, "a check after a run")
}

// What is wrong is said in the same words and order every time.
func TestDeterministicErrors(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(1, 2))
	some, patterns := named(t, "error_directives", "error_duplicate_tool", "error_methods", "error_policy_default_value", "error_tags",
		"error_taken")
	first, second := newModule(t, some...), newModule(t, some...)
	_, want := judged(t, first, first, patterns)
	require.Greater(t, strings.Count(want, ": error HG"), 20)
	for i := range 4 {
		chance.Shuffle(len(patterns), func(i, j int) { patterns[i], patterns[j] = patterns[j], patterns[i] })
		dir := []string{first, second}[i%2]
		texts, said := judged(t, dir, dir, patterns)
		require.Equal(t, want, said, "run %d: %v", i, patterns)
		require.Empty(t, texts)
	}
}
