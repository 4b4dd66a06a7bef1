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
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/nodes"
)

// The model is about the program only if the program does what the model's nodes do. These tables
// say where: a directory, a function, method or constant in it, and behind a colon what its text
// has; or a file. The tests fail if one is gone, or if a function that writes to the store is in none.

const (
	durable   = "runtime/internal/durable "
	loop      = "runtime/internal/loop "
	sqlite    = "runtime/store/sqlite "
	postgres  = "runtime/store/postgres "
	statement = "runtime/store/postgres/internal/statement "
	members   = "internal/nodes "
	streams   = "internal/api/internal/streams "
	river     = "runtime/jobs/river "
)

// performers has what performs an action of a node. The other actions happen to a node or to the
// database.
var performers = map[kind][]string{
	beat:      {members + "Members.beat: Presence.Beat(", members + "Members.answerLate: m.o.Late(", postgres + "Store.Beat", "runtime Runtime.CheckLeases", durable + "Leases.Renew", durable + "Lease.renew: store.ErrFenced"},
	claim:     {durable + "Lease.tryClaim", durable + "Leases.Take", durable + "Lease.open: l.read(", postgres + "claim: epoch = c.epoch + 1", sqlite + "updateClaim: epoch = epoch + 1"},
	writeNext: {durable + "Lease.note", durable + "Lease.Note", durable + "Lease.Commit", durable + "Lease.NoteFromOutside", durable + "Lease.NoteEvents", durable + "Lease.Flush", durable + "Lease.Change", loop + "Turn.journal", loop + "Turn.append", postgres + "Store.apply", sqlite + "Store.Note", sqlite + "addition.write"},
	runCall:   {"runtime/internal/toolrun Run.Run"},
	reread:    {durable + "Lease.Failed: store.ErrFenced", durable + "Lease.Open", postgres + "Store.known"},
	stopTurn:  {members + "Members.check: m.o.Lost()", "runtime Runtime.LoseLeases", durable + "Leases.Lose", "runtime leaseOwner.LeaseLost"},
	release:   {durable + "Lease.Release", members + "Members.Run: Presence.Leave(", postgres + "Store.Leave"},
}

// events are the actions that nothing in the program performs.
var events = []kind{tick, arrive, flush, startDatabase, promote, pauseProcess, cut, kill, stopDatabase, loseAnswer, loseClaim, resumeProcess, mend}

// keepers has what keeps the rule that a field of Lease or Wakes takes away.
var keepers = map[string][]string{
	"NoEpoch":        {statement + "Addition.head: c.epoch = ", sqlite + "updateAppend: epoch = ?", sqlite + "refused: store.ErrFenced"},
	"NoAfter":        {durable + "Lease.open: l.unanswered", durable + "Lease.heard: l.unanswered", statement + "Addition.head: c.events < ", statement + "Addition.head: c.version = ", statement + "Marked: c.marks", sqlite + "updateAppend: version = ?", "runtime/store CheckEvents"},
	"NoWitness":      {statement + "Dead: witnessed", statement + "witnessed: FROM witness", postgres + "claim: statement.Orphaned", river + "alive: FROM witness"},
	"ServerStart":    {statement + "witnessed: w.since", postgres + "beat: / 2 THEN excluded.seen"},
	"LastingWitness": {"internal/pgdb/schema/3.sql: CREATE UNLOGGED TABLE witness"},
	"OwnClock":       {statement + "Now: clock_timestamp()", durable + "Leases.Dead: ls.o.Node", durable + "Leases.HeldElsewhere: ls.o.Node"},
	"NoStart":        {loop + "Turn.journalStart: durable.StartEntry"},
	"RunsAgain":      {loop + "Turn.endInterruptedCalls: .Again", loop + "call.setInterrupted"},
	"NoOwn":          {durable + "Lease.tryClaim: l.unanswered"},
	"NoStop":         {members + "New: TTL * 2 / 3", members + "Members.beats: m.check()", members + "Members.watch: m.check()"},
	"EarlyAnswer":    {"internal/pgdb Apply: <-w.done", "internal/pgdb DB.commit"},
	"NoRead":         {streams + "streamer.local: <-st.wake", streams + "streamer.moved: st.s.Find("},
	"NoPoll":         {streams + "Streams.Write: time.NewTicker(lookEvery)", streams + "lookEvery: time.Second"},
}

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
			if f.Type.Kind() == reflect.Bool && !slices.Contains([]string{"Reclaims"}, f.Name) { // it adds something
				rules = append(rules, f.Name)
			}
		}
	}
	assert.ElementsMatch(t, rules, slices.Collect(maps.Keys(keepers)))
	for name, functions := range keepers {
		exist(t, name, functions)
	}
}

// exist checks that the places are there.
func exist(t *testing.T, what any, places []string) {
	t.Helper()
	for _, p := range places {
		assert.True(t, exists(t, p), "%v: there is no %s any more: say what does it now", what, p)
	}
}

// exists reports whether the place is there and has the text.
func exists(t *testing.T, place string) bool {
	t.Helper()
	dir, name, _ := strings.Cut(place, " ")
	if file, isFile := strings.CutSuffix(dir, ":"); isFile {
		source, err := os.ReadFile(filepath.Join("../../..", file))
		require.NoError(t, err)
		return strings.Contains(string(source), name)
	}
	name, text, _ := strings.Cut(name, ": ")
	d, ok := declared(t, dir)[name]
	return ok && strings.Contains(d.text, text)
}

// The seconds of the model are those of the program.
func TestTheModelHasTheTimesOfTheProgram(t *testing.T) {
	t.Parallel()
	assert.Equal(t, nodes.DefaultTTL, TTL*time.Second)
	assert.Equal(t, nodes.DefaultBeat, time.Second)
}

func TestAPlaceThatIsGoneIsFound(t *testing.T) {
	t.Parallel()
	assert.True(t, exists(t, "runtime/store Presence.Beat"))
	assert.False(t, exists(t, "runtime/store Presence.Beats"))
	assert.True(t, exists(t, statement+"Dead: witnessed"))
	assert.False(t, exists(t, statement+"Dead: finished"))
	assert.True(t, exists(t, "internal/pgdb/schema/3.sql: witness"))
	assert.False(t, exists(t, "internal/pgdb/schema/3.sql: finished"))
}

// writes are the methods of stores by which a conversation changes hands, or its journal grows.
var writes = []string{"Claim", "Note", "Append", "Beat", "Leave"}

// Who adds a write to the store learns that it is an action of the model.
func TestEveryWriteOfPackageDurableIsAnAction(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, places := range performers {
		for _, p := range places {
			p, _, _ = strings.Cut(p, ": ")
			known[p] = true
		}
	}
	found := writers(declared(t, strings.TrimSpace(durable)))
	for _, name := range found {
		assert.True(t, known[durable+name], "%s writes to the store: name the action that it performs in performers", name)
	}
	assert.GreaterOrEqual(t, len(found), 6, "the search for writes finds them: %v", found)
}

// writers returns the functions that call a method of writes, or note, which does.
func writers(functions map[string]declaration) (names []string) {
	for name, f := range functions {
		ast.Inspect(f.node, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if ok && (method.Sel.Name == "note" || slices.Contains(writes, method.Sel.Name) && ofStore(method.X)) && !slices.Contains(names, name) {
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
	functions := map[string]declaration{}
	add(t, functions, "lease.go", []byte(`package durable
func (l *Lease) Extend() { _ = func() { l.store().Note(ctx, l.id, n) } }
func (l *Lease) read() { l.store().Journal(ctx, l.id) }`))
	assert.Equal(t, []string{"Lease.Extend"}, writers(functions))
}

// declaration is a function, a method, a method of an interface or a constant, with its text.
type declaration struct {
	node ast.Node
	text string
}

// declared returns the declarations of the package in the directory: "Func", "Type.Method".
func declared(t *testing.T, dir string) map[string]declaration {
	t.Helper()
	root := filepath.Join("../../..", dir)
	files, err := fs.Glob(os.DirFS(root), "*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files, "%s is no package any more", dir)
	out := map[string]declaration{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		add(t, out, name, source)
	}
	return out
}

// add adds the declarations of the file.
func add(t *testing.T, out map[string]declaration, name string, source []byte) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, 0)
	require.NoError(t, err)
	one := func(name string, n ast.Node) {
		out[name] = declaration{n, string(source[set.Position(n.Pos()).Offset:set.Position(n.End()).Offset])}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			one(receiver(n)+n.Name.Name, n)
			return false
		case *ast.ValueSpec:
			one(n.Names[0].Name, n)
		case *ast.TypeSpec:
			if in, ok := n.Type.(*ast.InterfaceType); ok {
				for _, m := range in.Methods.List {
					for _, method := range m.Names {
						one(n.Name.Name+"."+method.Name, m)
					}
				}
			}
		}
		return true
	})
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
