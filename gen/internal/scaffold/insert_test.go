package scaffold_test

import (
	"go/format"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen/internal/scaffold"
)

// notes is the field that is added.
func notes() scaffold.Insertion {
	return scaffold.Insertion{
		Struct: "D", Field: "Notes", Path: "example.com/m/subsystems/notes", Package: "notes", Type: "Notes",
		Taken: func(name string) bool { return name == "subsystemsnotes" },
	}
}

// lines are what an insertion adds: a diff with + in front of new lines, - in front of old ones that are gone.
func lines(before, after string) string {
	old := strings.SplitAfter(before, "\n")
	var out strings.Builder
	i := 0
	for _, line := range strings.SplitAfter(after, "\n") {
		if i < len(old) && old[i] == line {
			i++
			continue
		}
		if i < len(old) && strings.HasPrefix(old[i], "type D struct") && strings.HasPrefix(line, "type D struct") {
			out.WriteString("-" + old[i])
			i++
		}
		out.WriteString("+" + line)
	}
	for ; i < len(old); i++ {
		out.WriteString("-" + old[i])
	}
	return out.String()
}

func TestInsert(t *testing.T) {
	const one = "import \"example.com/m/subsystems/notes\"\n"
	tests := []struct{ name, src, want string }{
		{"no import", "package d\n\ntype D struct {\n\tAlpha int\n}\n", "+import \"example.com/m/subsystems/notes\"\n+\n+\tNotes *notes.Notes\n"},
		{"comments stay", "// Package d.\npackage d // d\n\n// D is.\ntype D struct {\n\tA int // a\n\t// B is commented out.\n}\n\n// end\n",
			"+import \"example.com/m/subsystems/notes\"\n+\n+\n+\tNotes *notes.Notes\n"},
		{"imported already", "package d\n\n" + one + "\ntype D struct {\n\tAlpha notes.X\n}\n", "+\tNotes *notes.Notes\n"},
		{"imported under another name", "package d\n\nimport n \"example.com/m/subsystems/notes\"\n\ntype D struct {\n\tAlpha n.X\n}\n", "+\tNotes *n.Notes\n"},
		{"imported into the file", "package d\n\nimport . \"example.com/m/subsystems/notes\"\n\ntype D struct {\n\tAlpha X\n}\n", "+\tNotes *Notes\n"},
		{"imported for its effects", "package d\n\nimport _ \"example.com/m/subsystems/notes\"\n\ntype D struct {\n\tAlpha int\n}\n", "+" + one + "+\tNotes *notes.Notes\n"},
		{"one import", "package d\n\nimport \"fmt\"\n\ntype D struct {\n\tAlpha fmt.Stringer\n}\n", "+" + one + "+\tNotes *notes.Notes\n"},
		{"another package of the name", "package d\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/m/a\"\n\t\"example.com/x/notes\"\n)\n\ntype D struct {\n\tAlpha notes.X\n}\n",
			"+\tnotes2 \"example.com/m/subsystems/notes\"\n+\tNotes *notes2.Notes\n"},
		{"standard library only", "package d\n\nimport (\n\t\"context\"\n\t\"fmt\"\n)\n\ntype D struct {\n\tAlpha fmt.Stringer\n}\n",
			"+\n+\t\"example.com/m/subsystems/notes\"\n+\tNotes *notes.Notes\n"},
		{"two groups", "package d\n\nimport (\n\t\"fmt\"\n\n\t\"github.com/a/b\" // b\n\t\"github.com/c/d\"\n)\n\ntype D struct {\n\tAlpha b.X\n}\n",
			"+\t\"example.com/m/subsystems/notes\"\n+\tNotes *notes.Notes\n"},
		{"three groups", "package d\n\nimport (\n\t\"fmt\"\n\n\t\"github.com/a/b\"\n\n\t// ours\n\t\"example.com/m/a\"\n\tz \"example.com/m/z\"\n)\n\ntype D struct {\n\tAlpha b.X\n}\n",
			"+\t\"example.com/m/subsystems/notes\"\n+\tNotes *notes.Notes\n"},
		{"behind C", "package d\n\n// #include <x.h>\nimport \"C\"\n\nimport (\n\t\"fmt\"\n)\n\ntype D struct {\n\tAlpha fmt.Stringer\n}\n",
			"+\n+\t\"example.com/m/subsystems/notes\"\n+\tNotes *notes.Notes\n"},
		{"longer names above", "package d\n\n" + one + "\ntype D struct {\n\tGuardian *G `hook:\"optional\"`\n\tOS       *O\n}\n", "+\tNotes    *notes.Notes\n"},
		{"shorter names above", "package d\n\n" + one + "\ntype D struct {\n\tA *G // a\n\tB *O // b\n}\n", "+\n+\tNotes *notes.Notes\n"},
		{"a group of its own above", "package d\n\n" + one + "\ntype D struct {\n\tA *G\n\n\tlog *L\n}\n", "+\n+\tNotes *notes.Notes\n"},
		{"a group given at run time", "package d\n\n" + one + "\ntype D struct {\n\tGuard *G\n\t// Extra come last.\n\tExtra []hook.Hook\n}\n", "+\tNotes *notes.Notes\n"},
		{"and a list right above", "package d\n\n" + one + "\ntype D struct {\n\tOS *O\n\tEx []hook.Hook\n}\n", "+\n+\tNotes *notes.Notes\n+\n"},
		{"nothing but a list", "package d\n\n" + one + "\ntype D struct {\n\tExtra []hook.Hook\n}\n", "+\tNotes *notes.Notes\n"},
		{"a field of several lines", "package d\n\n" + one + "\ntype D struct {\n\tA struct {\n\t\tB int\n\t}\n}\n", "+\tNotes *notes.Notes\n"},
		{"a comment of several lines", "package d\n\n" + one + "\ntype D struct {\n\tABCDE int /* a\n\tb */\n}\n", "+\tNotes *notes.Notes\n"},
		{"empty", "package d\n\n" + one + "\ntype D struct{}\n", "-type D struct{}\n+type D struct {\n+\tNotes *notes.Notes\n+}\n"},
		{"empty in two lines", "package d\n\n" + one + "\ntype D struct {\n}\n", "+\tNotes *notes.Notes\n"},
		{"empty with a comment", "package d\n\n" + one + "\ntype D struct { // none yet\n\t// nothing\n}\n", "+\tNotes *notes.Notes\n"},
		{"one line", "package d\n\n" + one + "\ntype D struct{ A, B int } // d\n",
			"-type D struct{ A, B int } // d\n+type D struct {\n+\tA, B  int\n+\tNotes *notes.Notes\n+} // d\n"},
		{"one line with a tag", "package d\n\n" + one + "\ntype D struct{ A *G `hook:\"-\"` }\n",
			"-type D struct{ A *G `hook:\"-\"` }\n+type D struct {\n+\tA *G `hook:\"-\"`\n+\tNotes *notes.Notes\n+}\n"},
		{"in a group of types", "package d\n\n" + one + "\ntype (\n\t// C is first.\n\tC struct{}\n\n\t// D is.\n\tD struct {\n\t\tA int\n\t}\n)\n", "+\n+\t\tNotes *notes.Notes\n"},
		{"type parameters", "package d\n\n" + one + "\ntype D[S any] struct {\n\tAlphabet S\n}\n", "+\tNotes    *notes.Notes\n"},
		{"build tags", "//go:build linux\n\n// Package d.\npackage d\n\ntype D struct {\n\tAlpha int\n}\n", "+import \"example.com/m/subsystems/notes\"\n+\n+\tNotes *notes.Notes\n"},
		{"not formatted", "package d\nimport \"fmt\"\ntype D struct {\n  A fmt.Stringer\n    BBBBBBBBB int\n}\n", "+" + one + "+\tNotes *notes.Notes\n"},
		{"no end of line", "package d\n\n" + one + "\ntype D struct {\n\tAlpha int\n}", "+\tNotes *notes.Notes\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := notes().Insert([]byte(tt.src))
			require.NoError(t, err)
			assert.Equal(t, tt.want, strings.ReplaceAll(lines(tt.src, string(got)), "+\t\t\n", ""))
			if formatted, _ := format.Source([]byte(tt.src)); string(formatted) == tt.src {
				formatted, err := format.Source(got)
				require.NoError(t, err)
				assert.Equal(t, string(formatted), string(got), "not formatted")
			}
			has, declared := notes().HasField(got)
			assert.True(t, has && declared)
			has, declared = notes().HasField([]byte(tt.src))
			assert.False(t, has)
			assert.True(t, declared)

			windows, err := notes().Insert([]byte(strings.ReplaceAll(tt.src, "\n", "\r\n")))
			require.NoError(t, err)
			assert.Equal(t, strings.ReplaceAll(string(got), "\n", "\r\n"), string(windows))
		})
	}
}

func TestInsertRefuses(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"no such struct", "package d\n\ntype D int\n", scaffold.ErrNoStruct.Error()},
		{"not Go", "package d\n\ntype D struct {\n", "expected"},
		{"two line endings", "package d\r\n\ntype D struct{}\n", "end in two ways"},
		{"a comment in one line", "package d\n\ntype D struct{ /* none */ }\n", "comment"},
		{"a comment behind the brace", "package d\n\ntype D struct { /* none\n*/ }\n", "brace"},
		{"several fields with tags in one line", "package d\n\ntype D struct{ A int `a:\"b;c\"`; B int }\n", "several fields"},
		{"the brace in the last field's line", "package d\n\ntype D struct {\n\tA int }\n", "same line"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := notes().Insert([]byte(tt.src))
			assert.ErrorContains(t, err, tt.want)
		})
	}
}
