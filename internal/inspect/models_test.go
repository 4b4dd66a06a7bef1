package inspect_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/inspect"
	"github.com/grapnel-go/grapnel/internal/models"
	"github.com/grapnel-go/grapnel/internal/stdout"
	"github.com/grapnel-go/grapnel/internal/term/console"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
)

// listed returns what Models writes about the model at that day, for a program with all keys.
func listed(t *testing.T, day string, asJSON bool) (out, notes string) {
	t.Helper()
	c, err := catalog.Default().With("own.json", []byte(`{"models": [
		{"vendor": "own", "id": "m", "window": 1000, "source": "x", "prices": [
			{"input": 1.5, "output": 3},
			{"above": 500, "input": 2, "output": 4},
			{"from": "2027-01-01", "input": 10, "output": 20}
		]},
		{"vendor": "own", "id": "later", "prices": [{"from": "2028-01-01", "input": 1, "output": 2}]},
		{"vendor": "own", "id": "trick\u202e", "window": 1}
	]}`))
	require.Error(t, err, "a name must not turn the text of a terminal")
	require.Nil(t, c)
	c, err = catalog.Default().With("own.json", []byte(`{"models": [
		{"vendor": "own", "id": "m", "window": 1000, "source": "x", "name": "My\u001b[31m model", "prices": [
			{"input": 1.5, "output": 3},
			{"above": 500, "input": 2, "output": 4},
			{"from": "2027-01-01", "input": 10, "output": 20}
		]},
		{"vendor": "own", "id": "later", "prices": [{"from": "2028-01-01", "input": 1, "output": 2}]}
	]}`))
	require.NoError(t, err)
	now, err := time.Parse(time.DateOnly, day)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "out")
	file, err := os.Create(path)
	require.NoError(t, err)
	errs, err := os.Create(path + ".err")
	require.NoError(t, err)
	con := &console.Console{Out: file, Err: errs, Written: stdout.New(file)}
	err = inspect.Models(con, models.List{
		Catalog: c, Now: now, Filter: "OWN:", Configured: func(string) (bool, string) { return true, "" },
	}, asJSON)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.NoError(t, errs.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	said, err := os.ReadFile(path + ".err")
	require.NoError(t, err)
	return string(text), string(said)
}

func TestModelsShowTodaysPrice(t *testing.T) {
	t.Parallel()
	out, notes := listed(t, "2026-12-31", false)
	assert.Regexp(t, `(?m)^own:m +1000 +unknown +1\.5 +3 .* above 500 tokens: 2 and 4; from 2027-01-01: 10 and 20$`, out)
	assert.Regexp(t, `(?m)^own:later +unknown +unknown +unknown +unknown .* from 2028-01-01: 1 and 2$`, out)
	assert.NotContains(t, out, "NO KEY")
	assert.Contains(t, notes, "US dollars per million tokens")
	out, _ = listed(t, "2027-01-01", false)
	assert.Regexp(t, `(?m)^own:m +1000 +unknown +10 +20 .* -$`, out)
}

func TestModelsAsJSON(t *testing.T) {
	t.Parallel()
	out, notes := listed(t, "2026-12-31", true)
	assert.Empty(t, notes)
	assert.NotContains(t, out, "\x1b", "controls are escaped")
	var got struct {
		Date   string
		Models []struct {
			Model, Name, Source string
			Price               *catalog.Price
			Prices              []catalog.Price
			Key                 bool
		}
		Vendors []map[string]any
	}
	dec := json.NewDecoder(strings.NewReader(out))
	require.NoError(t, dec.Decode(&got))
	require.Len(t, got.Models, 2)
	assert.Equal(t, "own:m", got.Models[0].Model)
	assert.Equal(t, &catalog.Price{Input: 1.5, Output: 3}, got.Models[0].Price)
	assert.Len(t, got.Models[0].Prices, 3)
	assert.True(t, got.Models[0].Key)
	assert.Nil(t, got.Models[1].Price, "a price of the future is not known today")
	assert.Equal(t, []map[string]any{{"vendor": "own", "models": 2.0, "key": true}}, got.Vendors)
}
