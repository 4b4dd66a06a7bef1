package audit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/subsystems/audit"
)

// files has the text of each file of a log.
type files map[string][]byte

func read(t *testing.T, dir string) files {
	t.Helper()
	out := files{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		out[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
	}
	return out
}

func (f files) write(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.Mkdir(dir, 0o700))
	for name, text := range f {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
}

func fill(t *testing.T, l *audit.Log, n int) {
	t.Helper()
	for range n {
		require.NoError(t, l.Append(func(n int64) any { return map[string]any{"n": n, "text": fmt.Sprint("record ", n)} }))
	}
}

func TestLogKeepsItsRecords(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "audit")
	v, err := audit.NewLog(dir, nil).Verify()
	require.NoError(t, err, "there is no log")
	assert.Zero(t, v)
	o := &audit.LogOptions{FileSize: 1000}
	fill(t, audit.NewLog(dir, o), 10)
	fill(t, audit.NewLog(dir, o), 15)
	v, err = audit.NewLog(dir, o).Verify()
	require.NoError(t, err)
	assert.Equal(t, int64(25), v.Records)
	assert.Greater(t, v.Files, 2, "it goes over from file to file")
	next := int64(1)
	for data, err := range audit.NewLog(dir, nil).Records() {
		require.NoError(t, err)
		var r struct{ N int64 }
		require.NoError(t, json.Unmarshal(data, &r))
		require.Equal(t, next, r.N)
		next++
	}
	for name := range read(t, dir) {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
	other := make([]byte, 32)
	_, err = audit.NewLog(dir, &audit.LogOptions{Key: other}).Verify()
	require.ErrorIs(t, err, audit.ErrDamaged, "another key has other tags")
}

// TestEveryChangeIsFound: 1,000 random edits, removals, exchanges, additions and cuts; none passes (R24).
func TestEveryChangeIsFound(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "audit")
	o := &audit.LogOptions{FileSize: 2000}
	fill(t, audit.NewLog(dir, o), 60)
	whole := read(t, dir)
	var logs []string
	for name := range whole {
		if strings.HasSuffix(name, ".log") {
			logs = append(logs, name)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	found := map[string]int{}
	for n := range 1000 {
		changed := files{}
		for name, text := range whole {
			changed[name] = bytes.Clone(text)
		}
		name := logs[r.IntN(len(logs))]
		lines := bytes.SplitAfter(changed[name], []byte("\n"))
		lines = lines[:len(lines)-1]
		i, j := r.IntN(len(lines)), r.IntN(len(lines))
		what := []string{"bit", "removed", "exchanged", "twice", "added", "cut", "file gone", "head", "key", "text"}[n%10]
		switch what {
		case "bit":
			lines[i][r.IntN(len(lines[i]))] ^= 1 << r.IntN(8)
		case "removed":
			lines = append(lines[:i:i], lines[i+1:]...)
		case "exchanged":
			if i == j {
				j = (i + 1) % len(lines)
			}
			lines[i], lines[j] = lines[j], lines[i]
		case "twice":
			lines = append(lines[:i:i], append([][]byte{lines[i]}, lines[i:]...)...)
		case "added":
			forged := bytes.Replace(bytes.Clone(lines[i]), []byte("record"), []byte("forged"), 1)
			lines = append(lines[:i:i], append([][]byte{forged}, lines[i:]...)...)
		case "text":
			lines[i] = bytes.Replace(bytes.Clone(lines[i]), []byte("record"), []byte("Record"), 1)
		}
		changed[name] = bytes.Join(lines, nil)
		switch what {
		case "cut": // at the end, with all files behind
			at := r.IntN(len(whole[name]))
			changed[name] = whole[name][:at]
			for _, other := range logs {
				if other > name {
					delete(changed, other)
				}
			}
		case "file gone":
			delete(changed, name)
		case "head":
			head := changed["head"]
			head[r.IntN(len(head))] ^= 1 << r.IntN(7)
		case "key":
			delete(changed, "key")
		}
		changed.write(t, dir)
		_, err := audit.NewLog(dir, o).Verify()
		require.Error(t, err, "%d: %s in %s, line %d", n, what, name, i)
		found[what]++
	}
	t.Logf("FIGURE audit.changes=1000 of which all were found: %v", found)
	whole.write(t, dir)
	_, err := audit.NewLog(dir, o).Verify()
	require.NoError(t, err)
}

// TestADeathLeavesALogThatGoesOn: within the write of a record, and between it and the head.
func TestADeathLeavesALogThatGoesOn(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "audit")
	fill(t, audit.NewLog(dir, nil), 3)
	before := read(t, dir)
	fill(t, audit.NewLog(dir, nil), 1)
	after := read(t, dir)
	var name string
	for n := range after {
		if strings.HasSuffix(n, ".log") {
			name = n
		}
	}
	for size := len(before[name]); size <= len(after[name]); size++ {
		died := files{name: after[name][:size], "key": before["key"], "head": before["head"]}
		died.write(t, dir)
		want := int64(4)
		if size == len(after[name]) {
			want = 5 // the record was whole
		}
		v, err := audit.NewLog(dir, nil).Verify()
		require.NoError(t, err, size)
		assert.Equal(t, want-1, v.Records)
		fill(t, audit.NewLog(dir, nil), 1)
		v, err = audit.NewLog(dir, nil).Verify()
		require.NoError(t, err, size)
		assert.Equal(t, want, v.Records, size)
	}
	first := files{name: after[name][:bytes.IndexByte(after[name], '\n')+1], "key": before["key"]} // before the first head
	first.write(t, dir)
	fill(t, audit.NewLog(dir, nil), 1)
	v, err := audit.NewLog(dir, nil).Verify()
	require.NoError(t, err)
	assert.Equal(t, int64(2), v.Records)
}

// TestNobodyAppendsToAChangedLog: what was cut stays missed.
func TestNobodyAppendsToAChangedLog(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "audit")
	fill(t, audit.NewLog(dir, nil), 3)
	whole := read(t, dir)
	for name, text := range whole {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		cut := files{name: text[:len(text)-20], "key": whole["key"], "head": whole["head"]}
		cut.write(t, dir)
		require.ErrorIs(t, audit.NewLog(dir, nil).Append(func(int64) any { return 1 }), audit.ErrDamaged)
		more := files{name: append(bytes.Clone(text), "x\ny\n"...), "key": whole["key"], "head": whole["head"]}
		more.write(t, dir)
		require.ErrorIs(t, audit.NewLog(dir, nil).Append(func(int64) any { return 1 }), audit.ErrDamaged)
		none := files{name: text, "head": whole["head"]}
		none.write(t, dir)
		require.ErrorIs(t, audit.NewLog(dir, nil).Append(func(int64) any { return 1 }), audit.ErrDamaged, "no key is made anew")
	}
}

func TestSeveralAppendAtOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "audit")
	var all sync.WaitGroup
	for range 8 {
		l := audit.NewLog(dir, &audit.LogOptions{FileSize: 500})
		all.Go(func() {
			for range 20 {
				assert.NoError(t, l.Append(func(n int64) any { return map[string]int64{"n": n} }))
			}
		})
	}
	all.Wait()
	v, err := audit.NewLog(dir, nil).Verify()
	require.NoError(t, err)
	assert.Equal(t, int64(160), v.Records)
}
