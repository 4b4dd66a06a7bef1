package emit_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/args"
	"github.com/grapnel-go/grapnel/gen"
	"github.com/grapnel-go/grapnel/gen/internal/schema"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/gomod"
)

var update = flag.Bool("update", false, "write the golden files")

const golden = "testdata/notes_hook_gen.go.golden"

// module makes a module out of testdata/module, with the dependencies of this one, and generates in it.
func module(t *testing.T) string {
	t.Helper()
	for key, value := range gomod.Environ() {
		t.Setenv(key, value)
	}
	dir := gomod.New(t, "example.com/try", nil)
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/module")))
	result, err := gen.Run(t.Context(), gen.Options{Dir: dir})
	require.NoError(t, err)
	for _, p := range result.Problems {
		assert.Equal(t, "HG037", p.Code, p.Error())
	}
	require.Len(t, result.Changes, 1)
	return dir
}

func command(t *testing.T, dir string, stdin io.Reader, name string, arg ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, arg...)
	cmd.Dir, cmd.Stdin = dir, stdin
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		return errs.String(), err
	}
	return out.String(), nil
}

// answer is what the program in testdata says about one call.
type answer struct {
	Owned  bool
	Err    string
	Args   string
	Got    string
	Result string
	Fail   message.FailureKind
}

// calls are made by the program. An empty Err means that the schema accepts the arguments too, another one that it refuses them,
// unless lone says that only the decoder can know.
var calls = []struct {
	name, tool, args string
	want             answer
	lone             bool
}{
	{"defaults", "note_add", `{"title":"x"}`, answer{Got: `{"title":"x","priority":"normal","level":null,"limit":10,"names":null,"wait":90000000000}`, Result: "x"}, false},
	{"everything", "note_add", `{"author":"ab` + "`x`" + `","title":"ééé","priority":"high","level":2,"limit":100,"small":-128,"ratio":0.5,"done":true,"id":"18446744073709551615",` +
		`"tags":["low","normal"],"matrix":[[1,null],[]],"labels":{"a":"b"},"spans":{"x":{"count":1},"y":null},"every":{"count":255,"unit":"hour"},"also":[{"count":2,"unit":"day"}],` +
		`"where":{"line":7},"names":["n"],"site":"https://example.com","data":"aGk=","at":"2026-01-02T03:04:05Z","wait":"5s","meta":{"m":[1]},"extra":"e","free":[true]}`,
		answer{Result: "ééé", Got: `{"author":"ab` + "`x`" + `","title":"ééé","priority":"high","level":2,"limit":100,"small":-128,"ratio":0.5,"done":true,"id":"18446744073709551615",` +
			`"tags":["low","normal"],"matrix":[[1,null],[]],"labels":{"a":"b"},"spans":{"x":{"count":1,"unit":"week"},"y":null},"every":{"count":255,"unit":"hour"},"also":[{"count":2,"unit":"day"}],` +
			`"where":{"line":7},"names":["n"],"site":"https://example.com","data":"aGk=","at":"2026-01-02T03:04:05Z","wait":5000000000,"meta":{"m":[1]},"extra":"e","free":[true]}`}, false},
	{"null where it may be", "note_add", `{"title":"x","level":null,"names":null}`, answer{Got: `{"title":"x","priority":"normal","level":null,"limit":10,"names":null,"wait":90000000000}`, Result: "x"}, false},
	{"canonical", "note_add", ` { "title" : "\u0078" } `, answer{Args: `{"title":"x"}`, Got: `{"title":"x","priority":"normal","level":null,"limit":10,"names":null,"wait":90000000000}`, Result: "x"}, false},
	{"missing", "note_add", `{}`, answer{Err: "note_add: invalid argument title: is required"}, false},
	{"missing below", "note_add", `{"title":"x","also":[{"count":1},{}]}`, answer{Err: "note_add: invalid argument also[1].count: is required"}, false},
	{"required may be null but not left out", "note_add", `{"title":"x","where":{}}`, answer{Err: "note_add: invalid argument where.line: is required"}, false},
	{"unknown", "note_add", `{"title":"x","Title":"y"}`, answer{Err: "note_add: invalid argument Title: is not known here; did you mean title?"}, false},
	{"unknown below", "note_add", `{"title":"x","every":{"count":1,"units":"day"}}`, answer{Err: "note_add: invalid argument every.units: is not known here; did you mean unit?"}, false},
	{"null", "note_add", `{"title":null}`, answer{Err: "note_add: invalid argument title: must be a string, not null"}, false},
	{"too short", "note_add", `{"title":""}`, answer{Err: "note_add: invalid argument title: must have at least 1 character"}, false},
	{"too long", "note_add", `{"title":"ééééééééé"}`, answer{Err: "note_add: invalid argument title: must have at most 8 characters"}, false},
	{"pattern", "note_add", `{"title":"x","author":"Ab"}`, answer{Err: "note_add: invalid argument author: must match ^[a-z]{2,8}(`x`)?$"}, false},
	{"enum", "note_add", `{"title":"x","priority":"urgent"}`, answer{Err: "note_add: invalid argument priority: must be one of low, normal, high"}, false},
	{"enum of numbers", "note_add", `{"title":"x","level":3}`, answer{Err: "note_add: invalid argument level: must be one of 1, 2"}, false},
	{"enum in a list", "note_add", `{"title":"x","tags":["low","x"]}`, answer{Err: "note_add: invalid argument tags[1]: must be one of low, normal, high"}, false},
	{"enum of another package", "note_add", `{"title":"x","every":{"count":1,"unit":"year"}}`, answer{Err: "note_add: invalid argument every.unit: must be one of day, week, hour"}, false},
	{"below min", "note_add", `{"title":"x","limit":0}`, answer{Err: "note_add: invalid argument limit: must lie between 1 and 100"}, false},
	{"above max", "note_add", `{"title":"x","limit":101}`, answer{Err: "note_add: invalid argument limit: must lie between 1 and 100"}, false},
	{"below min of a fraction", "note_add", `{"title":"x","ratio":0.49}`, answer{Err: "note_add: invalid argument ratio: must be at least 0.5"}, false},
	{"int8", "note_add", `{"title":"x","small":128}`, answer{Err: "note_add: invalid argument small: must lie between -128 and 127"}, false},
	{"uint8", "note_add", `{"title":"x","every":{"count":256}}`, answer{Err: "note_add: invalid argument every.count: must lie between 0 and 255"}, false},
	{"quoted number", "note_add", `{"title":"x","id":"-1"}`, answer{Err: "note_add: invalid argument id: must be an integer of at least 0 in quotes, in range"}, false},
	{"too few", "note_add", `{"title":"x","tags":[]}`, answer{Err: "note_add: invalid argument tags: must have at least 1 item"}, false},
	{"too many", "note_add", `{"title":"x","tags":["low","low","low","low"]}`, answer{Err: "note_add: invalid argument tags: must have at most 3 items"}, false},
	{"deep in a matrix", "note_add", `{"title":"x","matrix":[[1],[2,"3"]]}`, answer{Err: "note_add: invalid argument matrix[1][1]: must be an integer"}, false},
	{"deep in a map", "note_add", `{"title":"x","spans":{"a b":{"count":0}}}`, answer{Err: `note_add: invalid argument spans["a b"].count: must be at least 1`}, false},
	{"format", "note_add", `{"title":"x","site":"example"}`, answer{Err: "note_add: invalid argument site: must have the format uri"}, false},
	{"base64", "note_add", `{"title":"x","data":"aGk"}`, answer{Err: "note_add: invalid argument data: must be base64 with padding"}, false},
	{"time", "note_add", `{"title":"x","at":"noon"}`, answer{Err: "note_add: invalid argument at: must be a time as in 2006-01-02T15:04:05Z"}, false},
	{"duration", "note_add", `{"title":"x","wait":"5"}`, answer{Err: "note_add: invalid argument wait: must be a duration as in 1m30s"}, false},
	{"not an object", "note_add", `[]`, answer{Err: "note_add: invalid arguments: must be an object"}, false},
	{"fraction of nothing", "note_add", `{"title":"x","limit":1.0}`, answer{Err: "note_add: invalid argument limit: must be an integer, written without fraction and exponent"}, true},
	{"beyond 2^53", "note_add", `{"title":"x","meta":9007199254740993}`, answer{Err: "note_add: invalid argument meta: must lie between -9007199254740991 and 9007199254740991"}, true},
	{"twice", "note_add", `{"title":"x","title":"x"}`, answer{Err: "note_add: invalid argument title: must not be given twice"}, true},
	{"twice in a map", "note_add", `{"title":"x","labels":{"a":"","a":""}}`, answer{Err: "note_add: invalid argument labels.a: must not be given twice"}, true},
	{"pointer to a struct without a name", "edit-it", `{"title":"x"}`, answer{Result: `{"key":"k","title":"x"}`}, false},
	{"no arguments", "note_list", ``, answer{Args: `{}`, Result: `["<a>"]`}, false},
	{"no arguments but some given", "note_list", `{"all":true}`, answer{Err: "note_list: invalid argument all: is not known here: nothing may be given"}, false},
	{"error of a kind", "note_drop", `{}`, answer{Result: "no such note", Fail: message.FailNotFound}, false},
	{"any error", "note_drop", `{"author":"no"}`, answer{Result: "failed", Fail: message.FailOperation}, false},
	{"no error", "note_drop", `{"author":"yes"}`, answer{Result: "ok"}, false},
	{"a subsystem of values", "now", `{}`, answer{Result: "noon"}, false},
}

func TestGeneratedToolsRun(t *testing.T) {
	dir := module(t)
	output, err := os.ReadFile(filepath.Join(dir, "notes", "hook_gen.go"))
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(golden, output, 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(output), "run the test with -update")

	msg, err := command(t, dir, nil, "go", "vet", "./...")
	require.NoError(t, err, msg)
	var stdin bytes.Buffer
	in := json.NewEncoder(&stdin)
	for _, c := range calls {
		require.NoError(t, in.Encode(map[string]string{"tool": c.tool, "args": c.args}))
	}
	require.NoError(t, in.Encode(map[string]string{"tool": "nobodys"}))
	text, err := command(t, dir, &stdin, "go", "run", ".")
	require.NoError(t, err, text)
	out := json.NewDecoder(strings.NewReader(text))
	answers := make([]answer, len(calls)+1)
	for i := range answers {
		require.NoError(t, out.Decode(&answers[i]))
	}
	assert.False(t, answers[len(calls)].Owned, "a foreign tool must not be owned")
	var tools []message.Tool
	require.NoError(t, out.Decode(&tools))
	schemas := compile(t, tools)
	for i, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			got := answers[i]
			require.True(t, got.Owned)
			if c.want.Args != "" {
				assert.Equal(t, c.want.Args, got.Args)
			}
			assert.Equal(t, c.want.Got, got.Got)
			assert.Equal(t, c.want.Result, got.Result)
			assert.Equal(t, c.want.Fail, got.Fail)
			if c.want.Err == "" {
				assert.Empty(t, got.Err)
			} else {
				assert.True(t, strings.HasPrefix(got.Err, c.want.Err), "got: %s", got.Err)
			}
			if !c.lone && c.args != "" {
				assert.Equal(t, c.want.Err == "", valid(t, schemas[c.tool], c.args), "schema and decoder must agree")
			}
		})
	}
}

// compile reads the schemas with another implementation.
func compile(t *testing.T, tools []message.Tool) map[string]*jsonschema.Schema {
	t.Helper()
	out := map[string]*jsonschema.Schema{}
	for _, tool := range tools {
		assert.NotEmpty(t, tool.Description)
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(tool.Input)))
		require.NoError(t, err)
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		c.AssertContent()
		require.NoError(t, c.AddResource("mem://"+tool.Name, doc))
		out[tool.Name], err = c.Compile("mem://" + tool.Name)
		require.NoError(t, err)
	}
	return out
}

func valid(t *testing.T, s *jsonschema.Schema, text string) bool {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	return s.Validate(v) == nil
}

// A file that is not generated again after a change must not compile.
func TestStaleFileDoesNotCompile(t *testing.T) {
	dir := module(t)
	changes := map[string][2]string{
		"signature": {"(_ context.Context, in Base) error", "(_ context.Context, in Base, _ ...int) error"},
		"newfield":  {"	Author string", "	Extra int\n	Author string"},
		"newtag":    {"maxlen=8", "maxlen=9"},
		"renamed":   {"func (n *Notes) List(", "func (n *Notes) ListAll("},
		"result":    {"	Parts []Part", "	Pieces []Part"},
		"embedded":  {"Line uint }", "Line int }"},
		"below":     {"Text string }", "Text string `json:\"text\"` }"},
		"constant":  {"	High   Priority = \"high\"\n", ""},
	}
	for name, change := range changes {
		stale := filepath.Join(dir, name)
		require.NoError(t, os.CopyFS(stale, os.DirFS(filepath.Join(dir, "notes"))))
		source, err := os.ReadFile(filepath.Join(stale, "notes.go"))
		require.NoError(t, err)
		changed := strings.Replace(string(source), change[0], change[1], 1)
		require.NotEqual(t, string(source), changed, name)
		require.NoError(t, os.WriteFile(filepath.Join(stale, "notes.go"), []byte(changed), 0o600))
	}
	msg, err := command(t, dir, nil, "go", "build", "./...")
	require.Error(t, err)
	for name := range changes {
		assert.Contains(t, msg, name+"/hook_gen.go:", "%s compiles", name)
	}
	assert.NotContains(t, msg, "notes/hook_gen.go")
}

// Every format that a tag may name is one that the decoder checks.
func TestFormatsAreChecked(t *testing.T) {
	t.Parallel()
	samples := map[string]string{
		"date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "time": "03:04:05Z", "email": "a@b.example", "hostname": "a.example",
		"ipv4": "192.0.2.1", "ipv6": "::1", "uri": "https://a.example", "uuid": "123e4567-e89b-12d3-a456-426614174000",
	}
	for _, format := range schema.Formats() {
		d := args.New(hook.NewToolCall(hook.ToolCallData{}), "")
		d.Format(samples[format], format)
		assert.Nil(t, d.Err(), format)
		d.Format("\n", format)
		assert.NotNil(t, d.Err(), format)
	}
}
