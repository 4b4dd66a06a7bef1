package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// here is the directory of the table, from the root of the module.
const here = "internal/test/features"

// changes are what differs from a commit.
type changes struct {
	since string
	// files are the changed files, and ids the rows whose entries are new or others.
	files, ids []string
	// why says why nothing is known.
	why string
}

// String says what is compared.
func (c changes) String() string {
	if c.why != "" {
		return "no row counts as changed: " + c.why
	}
	return fmt.Sprintf("changed since %s: %d files, %d entries of the table", c.since, len(c.files), len(c.ids))
}

// changesSince compares the working directory with a commit of git.
func changesSince(ctx context.Context, root, commit string) (changes, error) {
	c := changes{since: commit}
	if commit == "" {
		c.why = "no commit is named"
		return c, nil
	}
	out, err := git(ctx, root, "diff", "--name-only", "--relative", commit, "--")
	if err != nil {
		c.why = "git has no " + commit
		return c, nil
	}
	c.files = strings.Fields(out)
	old, err := tableOf(ctx, root, commit)
	if err != nil || len(old) == 0 {
		c.why = commit + " has no table"
		return c, err
	}
	current, err := currentTable(root)
	if err != nil {
		return c, err
	}
	for id, text := range current {
		if old[id] != text {
			c.ids = append(c.ids, id)
		}
	}
	slices.Sort(c.ids)
	return c, nil
}

// touch reports whether the row has changed.
func (c changes) touch(root string, r row) bool {
	if c.why != "" {
		return false
	}
	if slices.Contains(c.ids, r.id) || slices.Contains(c.files, r.file) {
		return true
	}
	files, err := r.files(root)
	for _, file := range files {
		if slices.Contains(c.files, file) {
			return true
		}
	}
	return err != nil // what cannot be read is tried, and says so
}

// draw returns at least one in share of the rows, always the same for one seed.
func draw(all []row, share int, seed string) []row {
	h := fnv.New64a()
	_, _ = h.Write([]byte(seed))
	r := rand.New(rand.NewPCG(h.Sum64(), 0))
	all = slices.Clone(all)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:(len(all)+share-1)/share]
}

func head(ctx context.Context, root string) string {
	out, err := git(ctx, root, "rev-parse", "HEAD")
	if err != nil {
		return "none"
	}
	return strings.TrimSpace(out)
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output()
	return string(out), err
}

// tableOf returns the entries of the table at a commit, by id.
func tableOf(ctx context.Context, root, commit string) (map[string]string, error) {
	names, err := git(ctx, root, "ls-tree", "--name-only", commit, here+"/")
	if err != nil {
		return nil, nil
	}
	table := map[string]string{}
	for name := range strings.FieldsSeq(names) {
		if !strings.HasPrefix(filepath.Base(name), "rows_") {
			continue
		}
		text, err := git(ctx, root, "show", commit+":./"+name)
		if err != nil {
			return nil, fmt.Errorf("git show %s:%s: %w", commit, name, err)
		}
		if err := entries(table, name, text); err != nil {
			return nil, err
		}
	}
	return table, nil
}

func currentTable(root string) (map[string]string, error) {
	names, err := filepath.Glob(filepath.Join(root, here, "rows_*.go"))
	if err != nil {
		return nil, err
	}
	table := map[string]string{}
	for _, name := range names {
		if err := entries(table, name, nil); err != nil {
			return nil, err
		}
	}
	return table, nil
}

// entries adds the source of each row of a file to the table. Without a text it reads the file.
func entries(table map[string]string, name string, text any) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || len(lit.Elts) == 0 {
			return true
		}
		first := lit.Elts[0]
		if kv, ok := first.(*ast.KeyValueExpr); ok {
			first = kv.Value
		}
		id, ok := first.(*ast.BasicLit)
		if !ok {
			return true // the table itself
		}
		if key, err := strconv.Unquote(id.Value); err == nil {
			table[key] = sourceOf(lit)
		}
		return false
	})
	return nil
}

// sourceOf is all words of a row, without its layout and comments.
func sourceOf(n ast.Node) string {
	var words []string
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			words = append(words, n.Value)
		case *ast.Ident:
			words = append(words, n.Name)
		}
		return true
	})
	return strings.Join(words, " ")
}
