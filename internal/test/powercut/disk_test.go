package powercut_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/powercut"
)

// Operations of files with the numbers 0 and 1.

func create(file int, name string) powercut.Op {
	return powercut.Op{Kind: powercut.Create, File: file, Name: name}
}

func remove(file int, name string) powercut.Op {
	return powercut.Op{Kind: powercut.Delete, File: file, Name: name}
}

func write(file int, offset int64, text string) powercut.Op {
	return powercut.Op{Kind: powercut.Write, File: file, Offset: offset, Data: []byte(text)}
}

func truncate(file int, size int64) powercut.Op {
	return powercut.Op{Kind: powercut.Truncate, File: file, Offset: size}
}

func synced(file, before int) powercut.Op {
	return powercut.Op{Kind: powercut.Sync, File: file, Before: before}
}

func syncDir(before int) powercut.Op { return powercut.Op{Kind: powercut.SyncDir, Before: before} }

// played returns a disk on which all of it has happened.
func played(t powercut.Trace) *powercut.Disk {
	d := powercut.NewDisk(t)
	d.Play(len(t))
	return d
}

// TestWhatMayBeLeft says for short traces what the files may be afterwards, all
// of which many seeds have to show, and nothing else. What is written is shorter
// than a sector; a torn one shows as noise.
func TestWhatMayBeLeft(t *testing.T) {
	t.Parallel()
	const noise = "*"
	cases := []struct {
		name  string
		trace powercut.Trace
		want  []string // content of the file "a", "-" for none
	}{
		{"nothing synced", powercut.Trace{create(0, "a"), write(0, 0, "new")}, []string{"-", "", "new", noise}},
		{"a name is not its content", powercut.Trace{create(0, "a"), write(0, 0, "new"), synced(0, 2)}, []string{"-", "new"}},
		{"content is not its name", powercut.Trace{create(0, "a"), write(0, 0, "new"), syncDir(2)}, []string{"", "new", noise}},
		{"both", powercut.Trace{create(0, "a"), write(0, 0, "new"), synced(0, 2), syncDir(3)}, []string{"new"}},
		{"a write while the sync was under way", powercut.Trace{create(0, "a"), syncDir(1), write(0, 0, "new"), synced(0, 2)},
			[]string{"", "new", noise}},
		{"later before earlier", powercut.Trace{create(0, "a"), syncDir(1), write(0, 0, "1"), write(0, 1, "2")},
			[]string{"", "1", "12", "\x002", noise}},
		{"replaced", powercut.Trace{create(0, "a"), syncDir(1), write(0, 0, "old"), synced(0, 3), write(0, 0, "new")},
			[]string{"old", "new", noise}},
		{"cut off", powercut.Trace{create(0, "a"), syncDir(1), write(0, 0, "long"), synced(0, 3), truncate(0, 1)}, []string{"long", "l"}},
		{"cut off for good", powercut.Trace{create(0, "a"), syncDir(1), write(0, 0, "long"), truncate(0, 1), synced(0, 4)}, []string{"l"}},
		{"deleted", powercut.Trace{create(0, "a"), write(0, 0, "x"), synced(0, 2), syncDir(3), remove(0, "a")}, []string{"x", "-"}},
		{"deleted for good", powercut.Trace{create(0, "a"), syncDir(1), remove(0, "a"), syncDir(3)}, []string{"-"}},
		{"deleted and made again", powercut.Trace{create(0, "a"), write(0, 0, "x"), synced(0, 2), syncDir(3), remove(0, "a"), create(1, "a"), write(1, 0, "y"), synced(1, 7)},
			[]string{"x", "-", "y"}},
		{"found", powercut.Trace{create(1, "b"), {Kind: powercut.Found, Name: "a", Data: []byte("x")}}, []string{"x"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := map[string]bool{}
			disk := played(c.trace)
			for seed := range uint64(1000) {
				content, ok := disk.Left(rand.New(rand.NewPCG(seed, 0)))["a"]
				left := string(content)
				if !ok {
					left = "-"
				}
				known := false
				for _, w := range c.want {
					known = known || left == w
				}
				if !known {
					left = noise
				}
				got[left] = true
			}
			want := map[string]bool{}
			for _, w := range c.want {
				want[w] = true
			}
			assert.Equal(t, want, got)
		})
	}
}

func TestWhatWasFoundIsThereFromTheStart(t *testing.T) {
	t.Parallel()
	disk := powercut.NewDisk(powercut.Trace{{Kind: powercut.Found, Name: "a", Data: []byte("x")}})
	assert.Equal(t, map[string][]byte{"a": []byte("x")}, disk.Left(rand.New(rand.NewPCG(0, 0))))
}

// A write that spans sectors is torn at their borders and nowhere else; what it
// does not cover stays.
func TestTornAtSectors(t *testing.T) {
	t.Parallel()
	const before, length = 100, 5000
	old, now := bytes.Repeat([]byte("o"), before+length+300), bytes.Repeat([]byte("n"), length)
	trace := powercut.Trace{
		create(0, "a"), syncDir(1), write(0, 0, string(old)), synced(0, 3), write(0, before, string(now)),
	}
	torn, disk := 0, played(trace)
	for seed := range uint64(200) {
		got := disk.Left(rand.New(rand.NewPCG(seed, 0)))["a"]
		require.Len(t, got, len(old))
		require.Equal(t, old[:before], got[:before])
		require.Equal(t, old[before+length:], got[before+length:])
		kinds := map[byte]bool{}
		for from := before; from < before+length; {
			to := min(before+length, from-from%512+512)
			switch part := got[from:to]; {
			case bytes.Equal(part, old[from:to]):
				kinds['o'] = true
			case bytes.Equal(part, now[:to-from]):
				kinds['n'] = true
			default:
				assert.False(t, bytes.HasPrefix(part, []byte("nnnnnnnn")) || bytes.HasPrefix(part, []byte("oooooooo")), "torn within a sector")
			}
			from = to
		}
		if len(kinds) == 2 {
			torn++
		}
	}
	assert.Positive(t, torn)
}

func TestCutSaysWhatItCannotWrite(t *testing.T) {
	t.Parallel()
	trace := powercut.Trace{create(0, "a"), syncDir(1)}
	err := played(trace).Cut(filepath.Join(t.TempDir(), "gone"), rand.New(rand.NewPCG(0, 0)))
	assert.ErrorContains(t, err, "powercut: write what is left")
}
