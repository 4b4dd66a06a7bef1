package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/plan/picture"
)

// planned are a composite and one that is nested in it; TAG is that of the field.
const planned = `

// App has it.
//
//hook:composite
type App struct {
	In  *Inner ` + "`TAG`" + `
	Two *P ` + "`hook:\"prefix=two_\"`" + `
}

// Inner is inside.
//
//hook:composite
type Inner struct {
	// One does.
	One *P
}

// OnEvent is written by hand.
func (a *App) OnEvent(ctx context.Context, ev hook.Event) {}
`

func newPlanned(t *testing.T, tag string) string {
	t.Helper()
	dir := newModule(t, "tool")
	f, err := os.OpenFile(filepath.Join(dir, "p.go"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(strings.Replace(planned, "TAG", tag, 1))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return dir
}

func TestPlan(t *testing.T) {
	dir := newPlanned(t, `hook:"after=Two"`)
	code, stdout, stderr := hookgen(t, "plan", "-C", dir)
	assert.Equal(t, succeeded, code, stderr)
	assert.Empty(t, stderr)
	assert.Equal(t, `p.App  p.go:22:6

#    FIELD  TYPE      TOOLS   DECLARED
1    Two    *p.P      two_do  p.go:24:2
2    In     *p.Inner          p.go:23:2
2.1    One  *p.P      do      p.go:32:2

SCOPE      POINT     RULE          CALLED, IN ORDER
agent      Schema    facade union  Two, In.One
tool call  Dispatch  facade first  Two | In.One
any time   OnEvent   facade each   written by hand

`, stdout[:strings.Index(stdout, "nobody acts at:")])
	assert.NoFileExists(t, filepath.Join(dir, "hook_gen.go"), "a plan needs no generated code and writes none")

	code, stdout, _ = hookgen(t, "plan", "-C", dir, "-format=json", "./...")
	assert.Equal(t, succeeded, code)
	var views []picture.View
	require.NoError(t, json.Unmarshal([]byte(stdout), &views))
	require.Len(t, views, 2)
	assert.Equal(t, "p.Inner", views[1].Type)
	assert.Equal(t, "p.go:32:2", views[0].Members[1].Members[0].Pos)
	assert.Equal(t, "example.com/p", views[0].Package)
}

func TestPlanIntoFile(t *testing.T) {
	dir := newPlanned(t, "")
	file := filepath.Join(dir, "plan.md")
	code, _, stderr := hookgen(t, "plan", "-C", dir, "-check", "-o", "plan.md")
	assert.Equal(t, differs, code)
	assert.Contains(t, stderr, "plan.md:1: error HG071: is missing")
	assert.NoFileExists(t, file)

	code, stdout, stderr := hookgen(t, "plan", "-C", dir, "-o", "plan.md", ".")
	assert.Equal(t, succeeded, code)
	assert.Empty(t, stdout+stderr)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, bytes.HasPrefix(text, []byte("## p.")))
	before, err := os.Stat(file)
	require.NoError(t, err)

	t.Setenv("HOOKGEN_CHECK", "1")
	code, _, stderr = hookgen(t, "plan", "-C", dir, "-o", "plan.md", ".")
	assert.Equal(t, succeeded, code, stderr)
	after, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, before.ModTime(), after.ModTime())
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o644))
	code, _, stderr = hookgen(t, "plan", "-C", dir, "-o", file, ".")
	assert.Equal(t, differs, code)
	assert.Contains(t, stderr, "error HG070: is out of date")
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "old", string(text))
}

func TestPlanProblems(t *testing.T) {
	dir := newPlanned(t, `hook:"after=Tow"`)
	tests := []struct {
		args []string
		want string
	}{
		{nil, "p.go:23:20: error HG027: after=Tow: there is no field Tow"},
		{[]string{"-format=png"}, `there is no format "png"`},
		{[]string{"-o", "plan"}, "the format of"},
		{[]string{"-check"}, "-check compares a file"},
		{[]string{"-wrong"}, "flag provided but not defined"},
	}
	for _, tt := range tests {
		code, stdout, stderr := hookgen(t, append([]string{"plan", "-C", dir}, tt.args...)...)
		assert.Equal(t, failed, code)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, tt.want)
	}
	none := newModule(t, "tool")
	code, _, stderr := hookgen(t, "plan", "-C", none)
	assert.Equal(t, failed, code)
	assert.Equal(t, "hookgen: no //hook:composite in ./...\n", stderr)
}
