package leasemodel

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The model is about the program only if the program does what the model's nodes do. These tables
// say where; the tests fail if a function is gone, or if one that writes to the store is in none.

// performers has the functions that perform an action of a node, each behind its directory. The
// others, which are not here, happen to a node or to the database.
var performers = map[kind][]string{
	beat:      {"runtime/store Presence.Beat", "runtime Runtime.CheckLeases", "runtime/internal/durable Leases.Renew", "runtime/internal/durable Lease.renew"},
	claim:     {"runtime/internal/durable Lease.tryClaim", "runtime/internal/durable Leases.Take", "runtime/internal/durable Lease.read"},
	writeNext: {"runtime/internal/durable Lease.Note", "runtime/internal/durable Lease.Commit", "runtime/internal/durable Lease.NoteFromOutside", "runtime/internal/durable Lease.NoteEvents", "runtime/internal/durable Lease.Flush", "runtime/internal/durable Lease.Change", "runtime/internal/loop Turn.journal", "runtime/internal/loop Turn.append"},
	runCall:   {"runtime/internal/toolrun Run.Run"},
	reread:    {"runtime/internal/durable Lease.Failed", "runtime/internal/durable Lease.Open"},
	stopTurn:  {"runtime Runtime.LoseLeases", "runtime/internal/durable Leases.Lose", "runtime leaseOwner.LeaseLost"},
	release:   {"runtime/internal/durable Lease.Release", "runtime/store Presence.Leave"},
}

// events are the actions that no function performs.
var events = []kind{tick, arrive, flush, startDatabase, promote, pauseProcess, cut, kill, stopDatabase, loseAnswer, loseClaim, resumeProcess, mend}

// keepers has the functions that keep the rule which a field of Lease or Wakes takes away.
var keepers = map[string][]string{
	"NoEpoch":       {"runtime/store/sqlite Store.Note", "runtime/store/sqlite addition.write", "runtime/store/sqlite refused"},
	"NoAfter":       {"runtime/store CheckEvents", "runtime/store/sqlite addition.write"},
	"NoServerStart": {"runtime/store Presence.Nodes"},
	"OwnClock":      {"runtime/internal/durable Leases.Dead", "runtime/internal/durable Leases.HeldElsewhere"},
	"NoStart":       {"runtime/internal/loop Turn.journalStart", "runtime/internal/durable StartEntry"},
	"RunsAgain":     {"runtime/internal/loop Turn.endInterruptedCalls", "runtime/internal/loop call.setInterrupted"},
	"NoOwn":         {"runtime/internal/durable Lease.tryClaim"},
	"NoStop":        {"runtime Runtime.LoseLeases"},
	"EarlyAnswer":   {"runtime/store/sqlite Store.Append", "runtime/store/sqlite Store.Note"},
	"NoRead":        {"runtime/store Waker.Watch", "runtime/store Log.Events"},
	"NoPoll":        {"runtime/store Waker.Watch"},
}

// shared has what the store that several daemons share must have, as soon as it is there.
var shared = []string{"Store.Claim", "Store.Note", "Store.Append", "Store.Beat", "Store.Leave", "Store.Nodes", "Store.Watch"}

const postgres = "runtime/store/postgres"

func TestEveryActionIsTheProgramsOrAnEvent(t *testing.T) {
	t.Parallel()
	for k := tick; k <= mend; k++ {
		assert.NotEqual(t, slices.Contains(events, k), performers[k] != nil, "action %d is one of the two", k)
	}
	for k, functions := range performers {
		exist(t, k, functions)
	}
}

func TestEveryRuleIsKeptByTheProgram(t *testing.T) {
	t.Parallel()
	var rules []string
	for _, m := range []any{Lease{}, Wakes{}} {
		for i := range reflect.TypeOf(m).NumField() {
			f := reflect.TypeOf(m).Field(i)
			if f.Type.Kind() == reflect.Bool && f.Name != "Standby" && f.Name != "OwnBeats" { // these add something
				rules = append(rules, f.Name)
			}
		}
	}
	assert.ElementsMatch(t, rules, slices.Collect(maps.Keys(keepers)))
	for name, functions := range keepers {
		exist(t, name, functions)
	}
}

func TestTheSharedStoreHasTheActions(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("../../..", postgres)
	if _, err := os.Stat(dir); err != nil {
		t.Logf("there is no %s yet", postgres)
		return
	}
	for _, name := range shared {
		exist(t, name, []string{postgres + " " + name})
	}
}

// exist checks that the functions are there.
func exist(t *testing.T, what any, functions []string) {
	t.Helper()
	for _, f := range functions {
		dir, name, _ := strings.Cut(f, " ")
		assert.Contains(t, slices.Collect(maps.Keys(declared(t, dir))), name, "%v: %s has no %s any more: say which function does it now", what, dir, name)
	}
}

// writes are the methods of stores by which a conversation changes hands, or its journal grows.
var writes = []string{"Claim", "Note", "Append", "Beat", "Leave"}

// Who adds a write to the store learns that it is an action of the model.
func TestEveryWriteOfPackageDurableIsAnAction(t *testing.T) {
	t.Parallel()
	const dir = "runtime/internal/durable"
	var known []string
	for _, functions := range performers {
		known = append(known, functions...)
	}
	found := writers(declared(t, dir))
	for _, name := range found {
		assert.Contains(t, known, dir+" "+name, "it writes to the store: name the action that it performs in performers")
	}
	assert.GreaterOrEqual(t, len(found), 6, "the search for writes finds them: %v", found)
}

// writers returns the functions that call a method of writes.
func writers(functions map[string]ast.Node) (names []string) {
	for name, f := range functions {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains(writes, method.Sel.Name) && ofStore(method.X) && !slices.Contains(names, name) {
				names = append(names, name)
			}
			return true
		})
	}
	return names
}

// ofStore reports whether the expression is x.store() or x.Store.
func ofStore(x ast.Expr) bool {
	if call, ok := x.(*ast.CallExpr); ok {
		x = call.Fun
	}
	sel, ok := x.(*ast.SelectorExpr)
	return ok && strings.EqualFold(sel.Sel.Name, "store")
}

func TestAWriteOutsideOfTheTableIsFound(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "", `package durable
func (l *Lease) Extend() { _ = func() { l.store().Note(ctx, l.id, n) } }
func (l *Lease) read() { l.store().Journal(ctx, l.id) }`, 0)
	require.NoError(t, err)
	functions := map[string]ast.Node{}
	add(functions, file)
	assert.Equal(t, []string{"Lease.Extend"}, writers(functions))
}

// declared returns the functions, methods and methods of interfaces of the package in the
// directory: "Func", "Type.Method".
func declared(t *testing.T, dir string) map[string]ast.Node {
	t.Helper()
	root := filepath.Join("../../..", dir)
	files, err := fs.Glob(os.DirFS(root), "*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files, "%s is no package any more", dir)
	out := map[string]ast.Node{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, 0)
		require.NoError(t, err)
		add(out, file)
	}
	return out
}

// add adds the declarations of the file.
func add(out map[string]ast.Node, file *ast.File) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			out[receiver(d)+d.Name.Name] = d
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					addMethods(out, s)
				}
			}
		}
	}
}

func addMethods(out map[string]ast.Node, s *ast.TypeSpec) {
	in, ok := s.Type.(*ast.InterfaceType)
	if !ok {
		return
	}
	for _, m := range in.Methods.List {
		for _, name := range m.Names {
			out[s.Name.Name+"."+name.Name] = m
		}
	}
}

// receiver is the type of the method's receiver and a dot.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	x := d.Recv.List[0].Type
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	if id, ok := x.(*ast.Ident); ok {
		return id.Name + "."
	}
	return ""
}
