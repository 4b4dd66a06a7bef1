package gen_test

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/grapnel-go/grapnel/gen/internal/load"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/origin"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// later is one change of the base module after it was generated for.
type later struct {
	name string
	// file is what changes, from and to the texts in it; from stands there once.
	file, from, to string
	// again is a package that is generated again after the change, while those that use it are not.
	again string
	// message is what the compiler says of a generated file; "" if the change is none of its business.
	message string
	// plain: the message names both places itself, and the comment above the line has nothing to add.
	plain bool
	// found is the file that a check finds behind where the compiler is silent, "" if there is none.
	found string
}

const (
	kit, app, tools  = "kit/kit.go", "app/app.go", "tools/tools.go"
	core, shared     = "core/core.go", "shared/shared.go"
	index            = "invalid argument: index"
	recall           = "// Recall recalls.\n//\n//hook:tool readonly\nfunc (*Memory) Recall(context.Context) error { return nil }\n\n"
	forget           = "// Forget forgets.\n//\n//hook:tool\nfunc (*Memory) Forget(context.Context) error { return nil }\n\n"
	behindMemory     = "// Clock has another tool."
	appFile, kitFile = "app/hook_gen.go", "kit/hook_gen.go"
	toolsFile        = "tools/hook_gen.go"
)

// changes are what may happen after generation. What only comments say is no matter of the compiler, and with it nothing is that
// stands in one package with its generated file; a check finds it.
var changes = []later{
	// Points.
	{name: "a subsystem gains a point", file: kit, from: behindMemory, to: "// OnClose closes.\nfunc (*Memory) OnClose(context.Context) error { return nil }\n\n" + behindMemory,
		message: "wrong type for method OnClose"},
	{name: "a value gains a point", file: kit, from: "// Mixin has", to: "// WrapTool wraps.\nfunc (Watch) WrapTool(ctx context.Context, _ *hook.ToolCall, next hook.ToolNext) message.ToolResult { return next.Run(ctx) }\n\n// Mixin has",
		message: "wrong type for method WrapTool"},
	{name: "a mixin gains a point", file: kit, from: "// Deep has", to: "// BeforeModel looks.\nfunc (*Mixin) BeforeModel(context.Context, *hook.Step, message.ModelRequest) (hook.ModelDecision, error) { return hook.ModelDecision{}, nil }\n\n// Deep has",
		message: "wrong type for method BeforeModel"},
	{name: "a type begins to embed a point", file: kit, from: "type Bare struct{}", to: "type Bare struct{ Wraps }", message: "wrong type for method WrapTool"},
	{name: "a type embeds a pointer with a point", file: kit, from: "type Bare struct{}", to: "type Bare struct{ *Wraps }", message: "wrong type for method WrapTool"},
	{name: "a subsystem gains a facade method", file: kit, from: "// Watch looks on.", to: "// OnEvent is new.\nfunc (*Guard) OnEvent(context.Context, hook.Event) {}\n\n// Watch looks on.",
		message: "(ambiguous selector struct{staleDaemonGuard"},
	{name: "a mixin gains a facade method", file: kit, from: "// Deep has", to: "// OnEvent is new.\nfunc (Mixin) OnEvent(context.Context, hook.Event) {}\n\n// Deep has",
		message: "(ambiguous selector struct{staleDaemonDeep"},
	{name: "a subsystem loses a point", file: kit, from: "// OnOpen implements hook.OnOpen.\nfunc (*Memory) OnOpen(context.Context, hook.Host) error { return nil }\n\n",
		message: "*kit.Memory does not satisfy hook.OnOpen (missing method OnOpen)"},
	{name: "a mixin loses nothing that is called", file: kit, from: "func (Watch) OnEvent(", to: "func (*Watch) OnEvent(", found: ""},
	{name: "a point gets another signature", file: kit, from: "func (Watch) AfterTurn(context.Context, *hook.Turn, hook.TurnOutcome) {}", to: "//hook:ignore HG012\nfunc (Watch) AfterTurn() {}",
		message: "does not satisfy hook.AfterTurn (wrong type for method AfterTurn)"},
	{name: "a subsystem loses a facade method", file: kit, from: "// OnEvent implements hook.Hook.\nfunc (Watch) OnEvent(context.Context, hook.Event) {}\n\n",
		found: appFile}, // what it has from Nop is called instead and does nothing
	{name: "a type without Nop loses a facade method", file: kit, from: "func (Bare) ScopedTools(*hook.AgentConfig) hook.Scope                       { return hook.Scope{} }\n",
		message: "missing method ScopedTools"},

	// Tools and what a directive says, of a package that is up to date.
	{name: "a tool is added", file: kit, from: behindMemory, to: "// More is new.\n//\n//hook:tool\nfunc (*Memory) More(context.Context) error { return nil }\n\n" + behindMemory, again: "kit", message: index},
	{name: "a tool is removed", file: kit, from: "//hook:tool\nfunc (*Memory) Forget(", to: "func (*Memory) Forget(", again: "kit", message: index},
	{name: "a tool is renamed", file: kit, from: "//hook:tool readonly", to: "//hook:tool readonly name=remember", again: "kit", message: index},
	{name: "two tools change places", file: kit, from: recall + forget, to: forget + recall, again: "kit", message: index},
	{name: "a tool has the name of another", file: kit, from: "//hook:tool readonly", to: "//hook:tool readonly name=now", again: "kit", message: index},
	{name: "the prefix of a subsystem changes", file: kit, from: "prefix=mem_", to: "prefix=memory_", again: "kit", message: index},
	{name: "the order of a subsystem changes", file: kit, from: "order=50", to: "order=150", again: "kit", message: index},
	{name: "the fail policy of a subsystem changes", file: kit, from: "//hook:subsystem failopen=BeforeTool", to: "//hook:subsystem failclosed=BeforeTool", again: "kit", message: index},
	{name: "the defaults of a subsystem go", file: kit, from: "//\n//hook:subsystem failopen=BeforeTool\n", again: "kit", message: "undefined: kit.GuardRev"},

	// The same, of a package that is behind itself.
	{name: "a tool is added and nothing generated", file: kit, from: behindMemory, to: "// More is new.\n//\n//hook:tool\nfunc (*Memory) More(context.Context) error { return nil }\n\n" + behindMemory, found: appFile + " " + kitFile},
	{name: "a tool is renamed and nothing generated", file: kit, from: "//hook:tool readonly", to: "//hook:tool readonly name=remember", found: appFile + " " + kitFile},
	{name: "the order changes and nothing is generated", file: kit, from: "order=50", to: "order=150", found: appFile + " " + kitFile},
	{name: "a description changes", file: kit, from: "// Recall recalls.", to: "// Recall looks up.", found: kitFile},
	{name: "a comment changes that nobody reads", file: kit, from: "// Memory remembers.", to: "// Memory forgets nothing."},
	{name: "the method of a tool is gone", file: tools, from: "// Clear forgets all.\n//\n//hook:tool\nfunc (*Notes) Clear(context.Context) error { return nil }\n", message: "(*Notes).Clear undefined"},

	// Fields of a composite.
	{name: "a field is added", file: app, from: "\tDebug  bool\n", to: "\tDebug  bool\n\tAgain *kit.Guard\n", message: "cannot use Daemon{}"},
	{name: "a field is removed", file: app, from: "\tBare   kit.Bare\n", message: "cannot use Daemon{}"},
	{name: "fields change places", file: app, from: "\tWatch  *kit.Watch\n\tDeep   kit.Deep\n", to: "\tDeep   kit.Deep\n\tWatch  *kit.Watch\n", message: "cannot use Daemon{}"},
	{name: "a tag changes", file: app, from: "before=Clock", to: "after=Clock", message: "cannot use Daemon{}"},
	{name: "a field has another type", file: app, from: "Watch  *kit.Watch", to: "Watch  *kit.Deep", message: "cannot use Daemon{}"},
	{name: "a pointer becomes a value", file: app, from: "Guard  *kit.Guard", to: "Guard  kit.Guard", message: "cannot use Daemon{}"},
	{name: "a field that takes no part changes", file: app, from: "Debug  bool", to: "Debug  int", message: "cannot use Daemon{}"},
	{name: "a method by hand is gone", file: app, from: "func (d *Daemon) OnEvent(", to: "func (d *Daemon) Tell(", message: "missing method OnEvent"},
	{name: "a method by hand is new", file: app, from: "// OnEvent has", to: "// SystemPrompt is new.\nfunc (d *Daemon) SystemPrompt(*hook.AgentConfig) string { return \"\" }\n\n// OnEvent has",
		message: "method Daemon.SystemPrompt already declared at", plain: true},
	{name: "a method of a point by hand is new", file: app, from: "// OnEvent has", to: "// BeforeTool is new.\nfunc (d *Daemon) BeforeTool(context.Context, *hook.ToolCall) (no hook.ToolDecision, err error) { return }\n\n// OnEvent has",
		message: "wrong type for method BeforeTool"},
	{name: "a helper is not called any more", file: app, from: "{ d.composeOnEvent(ctx, ev) }", to: "{}"},
	{name: "a nested composite gains a tool", file: core, from: "\tClock *kit.Clock\n", to: "\tClock *kit.Clock\n\tMemory *kit.Memory\n", again: "core", message: index},
	{name: "a nested composite gains a point", file: core, from: "\tClock *kit.Clock\n", to: "\tClock *kit.Clock\n\tWatch *kit.Watch\n", again: "core", message: index},

	// Inputs and results.
	{name: "an input gains a field", file: tools, from: "\t// Level is how much.\n", to: "\t// More is new.\n\tMore int `json:\"more\"`\n\t// Level is how much.\n", message: "cannot use Find{}"},
	{name: "an input loses a field", file: tools, from: "\t// Level is how much.\n\tLevel Level `json:\"level,omitzero\"`\n", message: "cannot use Find{}"},
	{name: "a field of an input has another type", file: tools, from: "Level Level `json", to: "Level string `json", message: "cannot use Find{}"},
	{name: "a limit changes", file: tools, from: "maxlen=20", to: "maxlen=30", message: "cannot use Find{}"},
	{name: "a JSON name changes", file: tools, from: `json:"query"`, to: `json:"words"`, message: "cannot use Find{}"},
	{name: "a struct in an input changes", file: tools, from: "From int `json:\"from\"`", to: "From int `json:\"first\"`", message: "cannot use Span{}"},
	{name: "an input of another package changes", file: shared, from: "Size int `json:\"size\"`", to: "Size int `json:\"count\"`", found: toolsFile}, // unexported fields could not be written here
	{name: "a tool takes something else", file: tools, from: "Search(_ context.Context, in Find) (Found, error) { return Found{Names: []string{in.Query}}, nil }", to: "Search(context.Context, Span) (Found, error) { return Found{}, nil }",
		message: "cannot use (*Notes).Search"},
	{name: "a tool returns something else", file: tools, from: "in Find) (Found, error) { return Found{Names: []string{in.Query}}, nil }", to: "in Find) (Span, error) { return Span{}, nil }",
		message: "cannot use (*Notes).Search"},
	{name: "a result changes", file: tools, from: "Names []string `json:\"names\"`", to: "Names []string `json:\"found\"`", message: "cannot use Found{}"},
	{name: "a struct in a result changes", file: tools, from: "Next int `json:\"next\"`", to: "Next int `json:\"then\"`", message: "cannot use Place{}"},
	{name: "a result of another package changes", file: shared, from: "Last int `json:\"last\"`", to: "Last int `json:\"end\"`", found: toolsFile},
	{name: "a type in a result begins to encode itself", file: tools, from: "// Level is how much.\ntype", to: "// MarshalText says it in words.\nfunc (Grade) MarshalText() ([]byte, error) { return nil, nil }\n\n// Level is how much.\ntype", found: toolsFile},
	{name: "a type in a result encodes itself no more", file: tools, from: "func (Own) MarshalJSON(", to: "func (Own) MarshalYAML(", found: toolsFile},
	{name: "a constant of an enum is removed", file: tools, from: "\tHigh Level = \"high\"\n", message: "undefined: High", plain: true},
	{name: "a constant of an enum is added", file: tools, from: "\tHigh Level = \"high\"\n", to: "\tHigh Level = \"high\"\n\tMost Level = \"most\"\n", found: toolsFile},
	{name: "a constant of an enum has another value", file: tools, from: "Level = \"high\"", to: "Level = \"great\"", found: toolsFile},
	{name: "a comment of an input changes", file: tools, from: "// Query has the words.", to: "// Query has some words.", found: toolsFile},

	// The version handshake: the file is of a generator that the runtime does not know.
	{name: "the generator is newer", file: appFile, from: "composite.GenVersion2", to: "composite.GenVersion3", message: "undefined: composite.GenVersion3"},
	{name: "nothing changes", file: app},
}

// users are the packages that are compiled against each one, itself included.
var users = map[string][]string{"shared": {"shared", "tools"}, "tools": {"tools"}, "kit": {"kit", "app"}, "app": {"app"}, "core": {"core", "outer"}}

// dir is the directory of the changed copies.
func (l later) dir() string { return strings.ReplaceAll(l.name, " ", "_") }

// copy puts the packages that the change concerns into a directory of their own, as they were generated, and changes them.
func (l later) copy(t *testing.T, dir string, base map[string]string) {
	t.Helper()
	concerned := users[path.Dir(l.file)]
	for name, text := range base {
		if strings.HasSuffix(name, "/") || !slices.Contains(concerned, path.Dir(name)) {
			continue
		}
		for _, p := range concerned {
			text = strings.ReplaceAll(text, `"example.com/test/base/`+p+`"`, `"example.com/test/`+l.dir()+`/`+p+`"`)
		}
		if name == l.file {
			if l.from != "" {
				require.Equal(t, 1, strings.Count(text, l.from), "%s: %q", l.name, l.from)
			}
			text = strings.Replace(text, l.from, l.to, 1)
		}
		write(t, dir, path.Join(l.dir(), name), text)
	}
}

// The unchanged generated file beside changed source does not compile, and what the compiler says leads to a line whose comment
// says what to do. One run of the compiler judges all changes.
func TestLaterChanges(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	dir := newModule(t)
	archive, err := txtar.ParseFile("testdata/later/base.txtar")
	require.NoError(t, err)
	for _, f := range archive.Files {
		write(t, dir, "base/"+f.Name, string(f.Data))
	}
	_, stderr := run(t, dir, false, "./...")
	require.NotContains(t, stderr, "error")
	base := tree(t, filepath.Join(dir, "base"))
	var again, silent []string
	for _, l := range changes {
		l.copy(t, dir, base)
		if l.again != "" {
			again = append(again, "./"+l.dir()+"/"+l.again)
		}
		if l.message == "" {
			silent = append(silent, "./"+l.dir()+"/...")
		}
	}
	_, stderr = run(t, dir, false, again...)
	require.NotContains(t, stderr, "error")
	out, err := command(t.Context(), dir, "go", "build", "-gcflags=-e", "./...")
	require.Error(t, err)
	said := complaints(out)
	checked, _ := run(t, dir, true, silent...)
	found := map[string]string{}
	for _, c := range checked.Changes {
		change, file, _ := strings.Cut(c.Path, "/")
		found[change] = strings.TrimPrefix(found[change]+" "+file, " ")
	}
	for _, l := range changes {
		t.Run(l.name, func(t *testing.T) {
			if l.message == "" {
				assert.Empty(t, said[l.dir()])
				assert.Equal(t, l.found, found[l.dir()], "what a check finds")
				own := path.Dir(l.file)
				why, err := origin.Stale(filepath.Join(dir, l.dir(), own), pointNames())
				require.NoError(t, err)
				assert.Equal(t, strings.Contains(l.found, own+"/"), why != "", "a test sees what a check finds in the package that changed: %s", why)
				return
			}
			l.assertSaid(t, dir, said[l.dir()])
		})
	}
	assert.Empty(t, said["base"])
	assert.Subset(t, slices.Collect(maps.Keys(said)), []string{changes[0].dir()})
}

func pointNames() []string {
	var out []string
	for _, info := range point.All() {
		out = append(out, info.Name)
	}
	return out
}

// complaint is one message of the compiler.
type complaint struct {
	file    string
	line    int
	message string
}

var complaining = regexp.MustCompile(`(?m)^([^/\n]+)/(\S+\.go):(\d+):\d+: (.*(?:\n\t.*)*)`)

// complaints returns what the compiler says, by the first directory.
func complaints(out string) map[string][]complaint {
	said := map[string][]complaint{}
	for _, m := range complaining.FindAllStringSubmatch(out, -1) {
		line, _ := strconv.Atoi(m[3])
		dir := strings.TrimPrefix(m[1], "./")
		said[dir] = append(said[dir], complaint{m[2], line, m[4]})
	}
	return said
}

// assertSaid holds that the message was said of a generated file, and of no other file anything.
func (l later) assertSaid(t *testing.T, dir string, said []complaint) {
	t.Helper()
	var all strings.Builder
	helpful := false
	for _, c := range said {
		fmt.Fprintf(&all, "%s:%d: %s\n", c.file, c.line, c.message)
		assert.Equal(t, load.Output, path.Base(c.file), c.message)
		if !strings.Contains(c.message, l.message) {
			continue
		}
		text := strings.Split(read(t, dir, path.Join(l.dir(), c.file)), "\n")
		helpful = helpful || l.plain || strings.Contains(above(text, c.line), `run "go tool hookgen ./..." again`)
	}
	assert.True(t, helpful, "no guard with advice says %q, but the compiler says\n%s", l.message, all.String())
}

// above returns the comment at the left margin that is nearest above a line, which counts from 1.
func above(text []string, line int) string {
	at := line - 2
	for at >= 0 && !strings.HasPrefix(text[at], "//") {
		at--
	}
	end := at + 1
	for at >= 0 && strings.HasPrefix(text[at], "//") {
		at--
	}
	return strings.ReplaceAll(strings.Join(text[at+1:end], "\n"), "\n// ", " ")
}
