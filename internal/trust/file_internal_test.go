package trust

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

// leaves calls visit with each settable value below v that has no values below it, and
// its path. Slices, maps and pointers get one element, so that nothing is passed over.
func leaves(v reflect.Value, path string, visit func(path string, change func())) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				leaves(v.Field(i), path+"."+f.Name, visit)
			}
		}
	case reflect.Slice:
		visit(path+" longer", func() { v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem()))) })
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		leaves(v.Index(0), path+"[0]", visit)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		visit(path+" longer", func() { v.SetMapIndex(reflect.ValueOf("other"), reflect.Zero(v.Type().Elem())) })
		v.SetMapIndex(reflect.ValueOf("key"), reflect.Zero(v.Type().Elem()))
		visit(path+"[key]", func() {
			e := reflect.New(v.Type().Elem()).Elem()
			e.SetString("changed")
			v.SetMapIndex(reflect.ValueOf("key"), e)
		})
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		leaves(v.Elem(), path, visit)
	case reflect.String:
		visit(path, func() { v.SetString(v.String() + "changed") })
	case reflect.Bool:
		visit(path, func() { v.SetBool(!v.Bool()) })
	case reflect.Int, reflect.Int8, reflect.Int64:
		visit(path, func() { v.SetInt(v.Int() + 1) })
	case reflect.Uint8, reflect.Uint16, reflect.Uint64:
		visit(path, func() { v.SetUint(v.Uint() + 1) })
	case reflect.Float64:
		visit(path, func() { v.SetFloat(v.Float() + 1) })
	default:
		panic(fmt.Sprintf("%s: a %s; teach this test its kind", path, v.Type()))
	}
}

// TestTheDigestCoversEveryField: whichever field of what can be approved changes, the
// digest is another one, also of a field that somebody adds later.
func TestTheDigestCoversEveryField(t *testing.T) {
	t.Parallel()
	for _, sample := range []any{&policy.Rules{}, &mcp.Server{}, &plan.Layer{}} {
		v := reflect.ValueOf(sample).Elem()
		seen := map[string]string{}
		n := 0
		leaves(v, v.Type().String(), func(path string, change func()) {
			before := Digest(v.Interface())
			change()
			after := Digest(v.Interface())
			assert.NotEqual(t, before, after, path)
			if was, twice := seen[after]; twice {
				assert.Fail(t, "two changes with one digest", "%s and %s", was, path)
			}
			seen[after] = path
			n++
		})
		assert.Greater(t, n, 8, v.Type())
	}
	type one struct{ A, B string }
	assert.NotEqual(t, Digest(one{"ab", ""}), Digest(one{"a", "b"}))
	assert.NotEqual(t, Digest([]string{"a", "b"}), Digest([]string{`a";"b`}))
	assert.NotEqual(t, Digest([]string(nil), []string{"a"}), Digest([]string{"a"}, []string(nil)))
}

// TestTheDigestCoversNoFunction: what could hide an effect is refused.
func TestTheDigestCoversNoFunction(t *testing.T) {
	t.Parallel()
	assert.Panics(t, func() { Digest(struct{ F func() }{func() {}}) })
}

func rules(lines ...string) Request {
	return Request{From: "the project", Wants: map[Kind][]string{Rules: lines}}
}

// TestTheTrustFileIsWrittenUnderItsLock: of approvals that several processes give at
// the same time none is lost.
func TestTheTrustFileIsWrittenUnderItsLock(t *testing.T) {
	t.Parallel()
	f := File{filepath.Join(t.TempDir(), "trusted")}
	yes := func(context.Context, Request) (Answer, error) { return Always, nil }
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			_, err := f.Confirm(t.Context(), yes, rules("r"), fmt.Sprint("key ", i), Digest(i))
			assert.NoError(t, err)
		})
	}
	all.Wait()
	known, err := f.read()
	require.NoError(t, err)
	assert.Len(t, known, 40)
	assert.NoFileExists(t, f.Path+".new")
}

// TestADigestAloneIsStillRead: an approval of an older file holds while nothing has
// changed; what was shown then is not known.
func TestADigestAloneIsStillRead(t *testing.T) {
	t.Parallel()
	f := File{filepath.Join(t.TempDir(), "trusted")}
	require.NoError(t, os.WriteFile(f.Path, []byte(`{"key": "`+Digest("a")+`"}`), 0o600))
	var asked []Request
	yes := func(_ context.Context, r Request) (Answer, error) {
		asked = append(asked, r)
		return Always, nil
	}
	for _, value := range []string{"a", "b", "b", "c"} {
		answer, err := f.Confirm(t.Context(), yes, rules(value), "key", Digest(value))
		require.NoError(t, err)
		assert.Equal(t, Always, answer)
	}
	require.Len(t, asked, 2)
	assert.Equal(t, []string{"what was allowed before is not known in detail; all of it is shown above"}, asked[0].Changes)
	assert.Equal(t, "- b; + c", strings.Join(asked[1].Changes, "; "))
}

func TestChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, now, want string }{
		{"a b c", "a c", "- b"},
		{"a", "a b", "+ b"},
		{"a b", "a c", "- b; + c"},
		{"a a", "a", "- a"},
		{"a b", "b a", "the order, or a value that is not shown, is another one"},
	} {
		assert.Equal(t, c.want, strings.Join(changes(strings.Fields(c.before), strings.Fields(c.now)), "; "), c)
	}
}
