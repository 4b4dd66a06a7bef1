package inspect_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/inspect"
	"github.com/grapnel-go/grapnel/internal/stdout"
	"github.com/grapnel-go/grapnel/internal/term/console"
)

func nodesText(t *testing.T, nodes []wire.Node, asJSON bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out")
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, inspect.Nodes(&console.Console{Out: file, Err: file, Written: stdout.New(file)}, nodes, asJSON))
	require.NoError(t, file.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestNodes(t *testing.T) {
	t.Parallel()
	seen, turns := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), 3
	nodes := []wire.Node{
		{ID: "01JA", URL: "https://10.0.0.5:7780", Version: "v1.2.3", Seen: seen, Alive: true, Self: true, Turns: &turns, Projects: []wire.NodeProject{{Project: "/p", Root: "/p", Fingerprint: "0123456789abcdef", Differs: true}}},
		{ID: "01JB", URL: "unix:/run/b\x1b[2J", Seen: seen, Alive: true, Projects: []wire.NodeProject{{Project: "/p", Root: "/srv/p", Fingerprint: "fedcba9876543210", Differs: true}}},
		{ID: "01JC", Seen: seen.Add(-time.Minute), Projects: []wire.NodeProject{}},
	}
	assert.Equal(t, `NODE  STATE         TURNS      VERSION  SEEN                 URL                    PROJECTS
01JA  alive, asked  3          v1.2.3   2026-11-28 12:00:00  https://10.0.0.5:7780  /p 01234567 !
01JB  alive         no answer  -        2026-11-28 12:00:00  unix:/run/b\x1b[2J     /srv/p fedcba98 !
01JC  dead          -          -        2026-11-28 11:59:00  -                      -
projects with ! are not the same on all nodes: their agents, skills, rules, hooks.json, servers, default model or instruction files differ
`, nodesText(t, nodes, false))
	assert.Contains(t, nodesText(t, nodes, true), `"fingerprint": "0123456789abcdef"`)
	assert.Equal(t, "the daemon shares its store with no other; docs/scale.md says how several do\n", nodesText(t, nil, false))
}
