package secure

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample is a text of a public set: see testdata/detect/SOURCES.md.
type sample struct {
	Text     string `json:"text"`
	Injected bool   `json:"injected"`
	ID       string `json:"id"`
	set      string
}

func samples(t *testing.T) (out []sample) {
	t.Helper()
	files, err := filepath.Glob("testdata/detect/*.jsonl")
	require.NoError(t, err)
	for _, name := range files {
		file, err := os.Open(name)
		require.NoError(t, err)
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			s := sample{set: strings.TrimSuffix(filepath.Base(name), ".jsonl")}
			require.NoError(t, json.Unmarshal(lines.Bytes(), &s), name)
			out = append(out, s)
		}
		require.NoError(t, lines.Err())
		require.NoError(t, file.Close())
	}
	return out
}

// held reports whether the sample is in the half that the signs were not written by.
func (s *sample) held() bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.ID))
	return h.Sum32()%2 == 1
}

// The rates of the detector, by set, over the half that its signs were not written by. They are published in docs/secure.md.
func TestRatesOfTheDetector(t *testing.T) {
	t.Parallel()
	type rate struct{ hit, of int }
	rates := map[string]*rate{}
	count := func(key string, hit bool) {
		if rates[key] == nil {
			rates[key] = &rate{}
		}
		rates[key].of++
		if hit {
			rates[key].hit++
		}
	}
	for _, s := range samples(t) {
		kind, half := "benign", "held"
		if s.Injected {
			kind = "injected"
		}
		if !s.held() {
			half = "seen"
		}
		hit := len(orders(s.Text)) > 0
		count(half+" "+kind, hit)
		count(half+" "+kind+" "+s.set, hit)
	}
	for key, r := range rates {
		t.Logf("FIGURE %s=%d of %d, %.1f %%", strings.ReplaceAll(key, " ", "."), r.hit, r.of, 100*float64(r.hit)/float64(r.of))
	}
	// What docs/secure.md promises, with room for a sign that goes.
	held, benign := rates["held injected"], rates["held benign"]
	assert.GreaterOrEqual(t, 100*held.hit, 70*held.of, "attacks that are found")
	assert.LessOrEqual(t, 100*benign.hit, 3*benign.of, "benign texts that are taken for attacks")
	assert.Greater(t, held.of, 300)
	assert.Greater(t, benign.of, 250)
	if os.Getenv("MISSES") != "" {
		for _, s := range samples(t) {
			if !s.held() && (len(orders(s.Text)) > 0) != s.Injected {
				fmt.Printf("%s %s injected=%v %v: %.300q\n", s.set, s.ID, s.Injected, orders(s.Text), s.Text)
			}
		}
	}
}
