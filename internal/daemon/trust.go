package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"github.com/grapnel-go/grapnel/internal/conffile"
)

// approved is what a person has allowed under one key of the trust file.
type approved struct {
	// Digest covers every value that has an effect.
	Digest string `json:"digest"`
	// Lines are what the question showed, to show the difference later. Secrets are
	// in none of them.
	Lines []string `json:"lines,omitempty"`
}

// UnmarshalJSON also reads the digest alone: files once had nothing else.
func (a *approved) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &a.Digest)
	}
	type plain approved
	return json.Unmarshal(data, (*plain)(a))
}

// confirm asks about what somebody wants, unless the same was approved under the key
// before, and remembers the answer. digest covers all that has an effect, shown or not.
func confirm(ctx context.Context, o Options, s Servers, key, digest string) (Trust, error) {
	known, err := readTrust(o.Paths)
	if err != nil {
		return TrustNo, err
	}
	before, again := known[key]
	if again && before.Digest == digest {
		return TrustAlways, nil
	}
	if o.Trust == nil {
		return TrustNo, nil
	}
	if again {
		s.Changes = changes(before.Lines, s.lines())
	}
	answer, err := o.Trust(ctx, s)
	if err != nil || answer != TrustAlways {
		return answer, err
	}
	return TrustAlways, writeTrust(o.Paths, key, approved{Digest: digest, Lines: s.lines()})
}

// changes are the lines that are gone, behind "- ", and those that are new, behind
// "+ ". It is never empty.
func changes(before, now []string) []string {
	var out []string
	without := func(mark string, lines, others []string) {
		rest := slices.Clone(others)
		for _, line := range lines {
			if i := slices.Index(rest, line); i >= 0 {
				rest = slices.Delete(rest, i, i+1)
				continue
			}
			out = append(out, mark+line)
		}
	}
	without("- ", before, now)
	without("+ ", now, before)
	switch {
	case len(before) == 0:
		return []string{"what was allowed before is not known in detail; all of it is shown above"}
	case len(out) == 0:
		return []string{"the order, or a value that is not shown, is another one"}
	}
	return out
}

// digestOf is the digest of values: of every field, slice, map and pointer in them,
// exported or not. A new field of a type that has an effect is covered by itself.
func digestOf(values ...any) string {
	h := sha256.New()
	for _, v := range values {
		writeValue(h, reflect.ValueOf(v))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// writeValue writes the value so that no two values of one type have the same bytes.
// It panics for functions and channels, which no configuration has.
func writeValue(w io.Writer, v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		fmt.Fprint(w, "nil;")
	case reflect.Struct:
		fmt.Fprintf(w, "{%d:", v.NumField())
		for i := range v.NumField() {
			fmt.Fprintf(w, "%q=", v.Type().Field(i).Name)
			writeValue(w, v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(w, "[%d:", v.Len())
		for i := range v.Len() {
			writeValue(w, v.Index(i))
		}
	case reflect.Map:
		fmt.Fprintf(w, "map[%d:", v.Len())
		keys := map[string]reflect.Value{}
		for _, k := range v.MapKeys() {
			var sb strings.Builder
			writeValue(&sb, k)
			keys[sb.String()] = v.MapIndex(k)
		}
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			fmt.Fprint(w, k)
			writeValue(w, keys[k])
		}
	case reflect.Pointer, reflect.Interface:
		fmt.Fprintf(w, "*%t", v.IsNil())
		writeValue(w, v.Elem())
	case reflect.String:
		fmt.Fprintf(w, "%q;", v.String())
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		fmt.Fprintf(w, "%v;", v)
	default:
		panic(fmt.Sprintf("daemon: digest of a %s: what is approved holds data only", v.Type()))
	}
}

// trustFile remembers what was approved: a list of servers by its path, a server of an
// agent by both names below the project, the rules by "policy" below it, who wants the
// memories of the user by "memory", and what is said of subsystems by "hooks".
func trustFile(p Paths) string { return filepath.Join(p.State, "trusted-servers.json") }

func readTrust(p Paths) (map[string]approved, error) {
	known := map[string]approved{}
	data, err := optional(conffile.Read(trustFile(p), &conffile.Options{JSON: true, Private: true}))
	if data == nil && err == nil {
		return known, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; delete the file to be asked again", trustFile(p), err)
	}
	return known, nil
}

// writeTrust adds one approval to the file. It reads the file again under its lock:
// another process may have written since, while a person was asked. The file is
// replaced whole and synced first, so an interrupted write or a loss of power leaves
// the old one.
func writeTrust(p Paths, key string, a approved) (err error) {
	lock := flock.New(trustFile(p)+".lock", flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("remember the answer: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	known, err := readTrust(p)
	if err != nil {
		return err
	}
	known[key] = a
	data, err := json.MarshalIndent(known, "", "  ")
	if err != nil {
		return fmt.Errorf("remember the answer: %w", err)
	}
	tmp := trustFile(p) + ".new"
	if err := writeSynced(tmp, append(data, '\n')); err != nil {
		return fmt.Errorf("remember the answer: %w", err)
	}
	return os.Rename(tmp, trustFile(p))
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
