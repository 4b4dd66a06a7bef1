package catalog_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
)

var update = flag.Bool("update", false, "write models.json anew from testdata")

// upstream is a provider in the files of catwalk.
type upstream struct {
	ID     string `json:"id"`
	Models []struct {
		ID        string  `json:"id"`
		Name      string  `json:"name"`
		In        float64 `json:"cost_per_1m_in"`
		Out       float64 `json:"cost_per_1m_out"`
		InCached  float64 `json:"cost_per_1m_in_cached"`
		OutCached float64 `json:"cost_per_1m_out_cached"`
		Window    int     `json:"context_window"`
		MaxTokens int     `json:"default_max_tokens"`
		Reasons   bool    `json:"can_reason"`
		Images    bool    `json:"supports_attachments"`
	} `json:"models"`
}

// table is models.json, and testdata/additions.json.
type table struct {
	Date   string          `json:"date"`
	Models []catalog.Model `json:"models"`
}

func load[T any](t *testing.T, path ...string) T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	var v T
	dec := json.NewDecoder(bytes.NewReader(data))
	require.NoError(t, dec.Decode(&v), "%v", path)
	return v
}

// made makes the table: the facts of catwalk, changed and completed by the additions.
func made(t *testing.T) table {
	t.Helper()
	source := load[struct{ Module, Version, Date, Files string }](t, "testdata", "catwalk", "SOURCE.json")
	added := load[table](t, "testdata", "additions.json")
	out := table{Date: max(source.Date, added.Date)}
	for _, vendor := range []string{"anthropic", "openai", "gemini"} {
		from := source.Module + "@" + source.Version + " " + source.Files + "/" + vendor + ".json"
		file := load[upstream](t, "testdata", "catwalk", vendor+".json")
		require.Equal(t, vendor, file.ID)
		var list []catalog.Model
		for _, m := range file.Models {
			entry := catalog.Model{Vendor: vendor, ID: m.ID, Name: m.Name, Window: m.Window, Output: m.MaxTokens, Source: from, Date: source.Date}
			if m.In > 0 || m.Out > 0 {
				entry.Prices = []catalog.Price{price(m.In, m.Out, m.InCached, m.OutCached)}
			}
			if m.Images {
				entry.Accepts = append(entry.Accepts, catalog.Images)
			}
			if m.Reasons {
				entry.Accepts = append(entry.Accepts, catalog.Reasoning)
			}
			list = append(list, entry)
		}
		var novel []catalog.Model
		for _, a := range added.Models {
			require.NotEmpty(t, a.Source, a.ID)
			a.Date = added.Date
			i := slices.IndexFunc(list, func(m catalog.Model) bool { return m.ID == a.ID })
			switch {
			case a.Vendor != vendor:
			case i < 0:
				novel = append(novel, a)
			default:
				list[i] = changed(list[i], a)
			}
		}
		out.Models = append(append(out.Models, novel...), list...)
	}
	return out
}

// price reads the four prices of catwalk. In its files both prices of the cache have changing
// meanings: where the vendor charges for writing, "in cached" is that price, which is above the
// one of input; elsewhere it is 0 or that of reading. "Out cached" is the price of reading, but for
// a few lines that repeat the price of output. So what costs less than input is for reading.
func price(in, out, inCached, outCached float64) catalog.Price {
	p := catalog.Price{Input: rounded(in), Output: rounded(out)}
	for _, v := range []float64{inCached, outCached} {
		if v = rounded(v); v > 0 && v < p.Input {
			p.CacheRead = &v
		}
	}
	if v := rounded(inCached); v > p.Input {
		p.CacheWrite = &v
	}
	return p
}

func rounded(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// changed returns the line with what the addition says.
func changed(m, a catalog.Model) catalog.Model {
	if a.Aliases != nil {
		m.Aliases = a.Aliases
	}
	if a.Window != 0 {
		m.Window = a.Window
	}
	if a.Output != 0 {
		m.Output = a.Output
	}
	if a.Prices != nil {
		m.Prices = a.Prices
	}
	m.Source += "; " + a.Source
	m.Date = a.Date
	return m
}

// encode writes the table with one model per line.
func encode(t *testing.T, tab table) []byte {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("{\n  \"date\": \"" + tab.Date + "\",\n  \"models\": [\n")
	for i, m := range tab.Models {
		var line bytes.Buffer
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(false)
		require.NoError(t, enc.Encode(m))
		out.WriteString("    ")
		out.Write(bytes.TrimSpace(line.Bytes()))
		if i < len(tab.Models)-1 {
			out.WriteString(",")
		}
		out.WriteString("\n")
	}
	out.WriteString("  ]\n}\n")
	return out.Bytes()
}

// TestTheTableIsMadeOfItsSources: models.json has nothing that the recorded files and the
// additions do not say. With -update it is written anew.
func TestTheTableIsMadeOfItsSources(t *testing.T) {
	want := encode(t, made(t))
	if *update {
		require.NoError(t, os.WriteFile("models.json", want, 0o644))
		return
	}
	got, err := os.ReadFile("models.json")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "go test ./runtime/provider/catalog -run MadeOfItsSources -update")
}
