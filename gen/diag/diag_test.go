package diag_test

import (
	"bytes"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/gen/diag"
)

func at(file string, line, column int) token.Position {
	return token.Position{Filename: file, Line: line, Column: column}
}

func TestSort(t *testing.T) {
	problems := []diag.Problem{
		{Code: "HG013", Pos: at("b.go", 1, 1), Message: "x"},
		{Code: "HG012", Pos: at("a.go", 10, 2), Message: "x"},
		{Code: "HG020", Pos: at("a.go", 9, 2), Message: "x"},
		{Code: "HG012", Pos: at("a.go", 10, 2), Message: "x"},
		{Code: "HG010", Pos: at("a.go", 10, 2), Message: "x"},
	}
	var got []string
	for _, p := range diag.Sort(problems) {
		got = append(got, p.Pos.String()+" "+p.Code)
	}
	assert.Equal(t, []string{"a.go:9:2 HG020", "a.go:10:2 HG010", "a.go:10:2 HG012", "b.go:1:1 HG013"}, got)
}

func TestPrint(t *testing.T) {
	var out bytes.Buffer
	diag.Print(&out, []diag.Problem{
		{Code: "HG020", Pos: at("d/d.go", 21, 2), Message: "two owners", Fix: "a prefix",
			Notes: []diag.Note{{Pos: at("o/o.go", 64, 14), Message: "here"}, {Message: "nowhere"}}},
		{Code: "HG031", Severity: diag.Warning, Message: "no doc"},
	})
	assert.Equal(t, "d/d.go:21:2: error HG020: two owners\n\to/o.go:64:14: here\n\tnowhere\n\tfix: a prefix\nwarning HG031: no doc\n", out.String())
	assert.True(t, diag.HasErrors([]diag.Problem{{Severity: diag.Warning}, {}}))
	assert.False(t, diag.HasErrors([]diag.Problem{{Severity: diag.Warning}}))
}

// Every code that the source uses has a page, and every page a code that the source uses.
func TestEveryCodeIsExplained(t *testing.T) {
	literal := regexp.MustCompile(`"(HG\d\d\d)[":]`)
	used := map[string]bool{}
	for _, dir := range []string{"..", "../../composite/plan", "../../cmd/hookgen"} {
		require.NoError(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || d.Name() == "codes.go" {
				return err
			}
			text, err := os.ReadFile(name)
			for _, m := range literal.FindAllStringSubmatch(string(text), -1) {
				used[m[1]] = true
			}
			return err
		}))
	}
	codes := diag.Codes()
	assert.True(t, slices.IsSorted(codes))
	for code := range used {
		text, ok := diag.Explain(code)
		assert.True(t, ok, "%s has no page", code)
		assert.True(t, strings.HasPrefix(text, code+": "), text)
	}
	for _, code := range codes {
		assert.True(t, used[code], "%s is explained, but nothing says it", code)
	}
	_, ok := diag.Explain("HG000")
	assert.False(t, ok)
}
