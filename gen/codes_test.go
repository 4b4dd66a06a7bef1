package gen_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// near is a line of a scenario that is almost what a code is about, and that the code does not stand at. Every code that a scenario
// produces has one in a scenario that produces it.
var near = []struct{ code, scenario, line string }{
	{"HG005", "error_directive_closed", "//hooks:other"},
	{"HG006", "error_directive_closed", "// hook: this is prose too, and so is //hook:tool in a sentence."},
	{"HG007", "error_directive_places", "type (\n\t// C is alone in its group.\n\t//\n\t//hook:composite"},
	{"HG008", "error_directive_values", "//hook:tool name=j readonly idempotent timeout=1m30s maxresult=65536 \"exclusive=a b\""},
	{"HG009", "error_optional_value", "B *Part      `hook:\"optional\"`"},
	{"HG010", "error_go_undefined", "Skip *Missing `hook:\"-\"`"},
	{"HG011", "error_composite_kinds", "type E struct{ part *Part }"},
	{"HG012", "error_method_signatures", "func (C) OnEvent(c context.Context, _ hook.Event) {}"},
	{"HG013", "error_method_names", "func (P) Event(ctx context.Context) {}"},
	{"HG014", "error_ambiguous", "type Says struct {"},
	{"HG015", "error_hidden", "Schemata   string"},
	{"HG016", "error_held_forms", "Group Hooks"},
	{"HG017", "error_nop_pointer", "Spare *hook.Nop"},
	{"HG018", "error_embedded", "// Closed writes it itself.\n//\n//hook:composite\ntype Closed struct {\n\tPlug *Plug\n\tStore"},
	{"HG019", "error_directive_tests", "//hook:ignore HG019\n\n// Redo does it again on Plan 9.\n//\n//hook:tool"},
	{"HG020", "error_prefix", "R *Q `hook:\"prefix=a_b\"`"},
	{"HG021", "error_policy_shadowed", "Files *Files `hook:\"dynamic,prefix=files_\"`"},
	{"HG022", "error_tool_names", "func (q *Q) B(ctx context.Context) error { return nil }"},
	{"HG023", "error_policy_reserved", "Files *Files `hook:\"prefix=my_\"`"},
	{"HG024", "error_prefix", "P *P `hook:\"prefix=a_\"`"},
	{"HG026", "error_order_forms", "D     *Part  `hook:\"before=Extra\"`"},
	{"HG027", "error_order_forms", "D     *Part  `hook:\"before=Extra\"`"},
	{"HG028", "error_order", "Maybe  *Part `hook:\"optional,requires=Other\"`"},
	{"HG029", "error_external", "C *pantry.Pantry `hook:\"prefix=c_\"`"},
	{"HG030", "error_tools", "func (r *R) Do(ctx context.Context) error { return nil }"},
	{"HG031", "warnings", "func (p *Part) Ignored(ctx context.Context) error { return nil }"},
	{"HG032", "warnings", "type Daemon struct{ Part *Part }"},
	{"HG033", "error_input_words", "E float64 `json:\"e\" hook:\"min=-1.5,max=1e3\"`"},
	{"HG034", "error_tools", "type R struct{ hook.Nop }"},
	{"HG035", "error_own_json", "type Broken struct{ Bare }"},
	{"HG036", "error_input_types", "Children []json.RawMessage `json:\"children\"`"},
	{"HG037", "error_input_types", "Words map[string]string `json:\"words\"`"},
	{"HG038", "error_input_types", "Subtitle string `json:\"subtitle\"`"},
	{"HG039", "error_input_types", "name string\n"},
	{"HG040", "error_composite_kinds", "type E struct{ part *Part }"},
	{"HG041", "error_generic", "func (o *Of[_]) Fixed(_ context.Context, in In[int]) error { return nil }"},
	{"HG043", "error_policy_timeout", "D *Guard `hook:\"BeforeTool: timeout=30\"`"},
	{"HG044", "error_policy_absent", "A hook.Hook `hook:\"AfterTool: timeout=1s\"`"},
	{"HG045", "error_policy_match_nothing", "A *Audit `hook:\"match=tool:bash,match=agent:coder,match=sender:bob\"`"},
	{"HG046", "error_tag_words", "J *Part `hook:\"BeforeTool: failopen\"`"},
	{"HG048", "error_own_json", "type Bare struct{}"},
	{"HG049", "policy_match_tool", "E *Guard `hook:\"match=tool:b*|w????\"`"},
	{"HG050", "handwritten", "func (p *Part) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {"},
	{"HG051", "warnings", "func (p *Part) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {"},
	{"HG052", "error_empty", "package p\n"},
	{"HG053", "error_taken_names", "const ToolDoing = 1"},
	{"HG054", "copies", "func (p Pointer) OnEvent(ctx context.Context, ev hook.Event) { p.composeOnEvent(ctx, ev) }"},
}

// elsewhere are the codes that no scenario can produce, with the test that does; it speaks of the code.
var elsewhere = []struct{ codes, file, test string }{
	{"HG001", "internal/load/load_test.go", "TestWrongGo"},
	{"HG002", "version_test.go", "TestOldContract"},
	{"HG003 HG004", "internal/load/load_test.go", "TestPatterns"},
	{"HG025 HG042", "loading_test.go", "TestOtherModule"},
	{"HG055 HG056", "../composite/layered_test.go", "TestLayersThatCannotBeLaid"},
	{"HG060 HG061", "new_test.go", "TestNew"},
	{"HG070 HG071 HG072", "../cmd/hookgen/run_test.go", "TestGenerateAndCheck"},
	{"HG099", "verify_internal_test.go", "TestVerify"},
}

// analyzer reports whether a code is of gen/vet, whose tests are there.
func analyzer(code string) bool { return code >= "HG080" && code < "HG090" }

// produced are the scenarios that produce each code, by what their stderr is to be.
func produced(t *testing.T) map[string][]*scenario {
	t.Helper()
	line := regexp.MustCompile(`(?m)^\S+: (?:error|warning|info) (HG\d\d\d): `)
	out := map[string][]*scenario{}
	for _, s := range scenarios(t) {
		stderr, _ := s.want("stderr")
		for _, m := range line.FindAllStringSubmatch(stderr, -1) {
			if !slices.Contains(out[m[1]], s) {
				out[m[1]] = append(out[m[1]], s)
			}
		}
	}
	return out
}

// Every code comes out of a scenario or of a named test, and no scenario produces a code without a page.
func TestEveryCodeIsProduced(t *testing.T) {
	t.Parallel()
	by := produced(t)
	for code := range by {
		_, ok := diag.PageOf(code)
		assert.True(t, ok, "%s comes out of %s and has no page", code, by[code][0].name)
	}
	other := map[string]bool{}
	for _, e := range elsewhere {
		text, err := os.ReadFile(e.file)
		require.NoError(t, err)
		assert.Contains(t, string(text), "\nfunc "+e.test+"(t *testing.T)", e.file)
		for code := range strings.FieldsSeq(e.codes) {
			other[code] = true
			assert.Contains(t, string(text), code, e.file)
			assert.Empty(t, by[code], "%s comes out of a scenario now, so the table has no need of it", code)
		}
	}
	for _, code := range diag.Codes() {
		assert.True(t, len(by[code]) > 0 || other[code] || analyzer(code), "%s comes out of no scenario", code)
	}
}

// Beside every mistake of a scenario stands something like it that is right.
func TestEveryCodeHasANearMiss(t *testing.T) {
	t.Parallel()
	by := produced(t)
	has := map[string]bool{"HG047": true} // policy_rewriters has composites whose rewriters have an order
	for _, n := range near {
		has[n.code] = true
		i := slices.IndexFunc(by[n.code], func(s *scenario) bool { return s.name == n.scenario })
		if !assert.True(t, i >= 0, "%s does not come out of %s", n.code, n.scenario) {
			continue
		}
		assert.NoError(t, silent(by[n.code][i], n.code, n.line), "%s near %q", n.code, n.line)
	}
	for code := range by {
		assert.True(t, has[code], "%s has no near miss in the table", code)
	}
}

// silent is nil if the text stands in a file of the scenario and no problem of the code is at the line where it ends.
func silent(s *scenario, code, text string) error {
	stderr, _ := s.want("stderr")
	found := fmt.Errorf("%s does not have it", s.name)
	for _, f := range s.archive.Files {
		i := bytes.Index(f.Data, []byte(text))
		if strings.HasPrefix(f.Name, "want/") || i < 0 {
			continue
		}
		found = nil
		end := i + len(strings.TrimRight(text, "\n"))
		line := bytes.Count(f.Data[:end], []byte("\n")) + 1
		at := regexp.MustCompile(fmt.Sprintf(`(?m)^%s:%d:\d+: \w+ %s: `, regexp.QuoteMeta(filepath.ToSlash(f.Name)), line, code))
		if at.MatchString(stderr) {
			return fmt.Errorf("%s:%d has it", f.Name, line)
		}
	}
	return found
}

// The table can fail: a line that has the mistake is no near miss.
func TestSilent(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios(t) {
		if s.name == "error_directives" {
			assert.Error(t, silent(s, "HG005", "//hook:composit\n"))
			assert.Error(t, silent(s, "HG005", "no such text"))
			assert.NoError(t, silent(s, "HG006", "//hook:composit\n"))
		}
	}
}

// A page shows the mistake and what to write instead, unless no code can.
func TestEveryPageHasAnExample(t *testing.T) {
	t.Parallel()
	without := map[string]string{
		"HG050": "is no mistake", "HG070": "is mended by a run", "HG071": "is mended by a run", "HG072": "is mended by a run",
		"HG099": "is a mistake of the generator",
	}
	for _, code := range diag.Codes() {
		p, _ := diag.PageOf(code)
		both := strings.Contains(p.Example, "// wrong") && strings.Contains(p.Example, "// right")
		switch {
		case analyzer(code):
		case without[code] != "":
			assert.False(t, both, "%s has an example now, so the table has no need of it", code)
		default:
			assert.True(t, both, "%s has no example of what is wrong and what is right", code)
		}
		assert.NotEmpty(t, p.Title, code)
		assert.Greater(t, len(p.Text), 12, code)
	}
}
