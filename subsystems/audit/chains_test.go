package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/sqldb"
	"github.com/grapnel-go/grapnel/internal/test/databases"
	"github.com/grapnel-go/grapnel/subsystems/audit"
)

var (
	oneKey   = bytes.Repeat([]byte{1}, 32)
	otherKey = bytes.Repeat([]byte{2}, 32)
)

// oneChain is the end of the names of chains with oneKey.
const oneChain = "9f18d168"

func chains(t *testing.T, dsn, node string, key []byte, others ...[]byte) *audit.Chains {
	t.Helper()
	return audit.NewChains(databases.Open(t, dsn).SQL(), audit.ChainsOptions{Node: node, Key: key, Others: others, Project: "/p"})
}

func add(t *testing.T, c *audit.Chains, n int) {
	t.Helper()
	for range n {
		require.NoError(t, c.Append(func(n int64) any { return audit.Record{N: n, Kind: "turn_start", Agent: fmt.Sprint("agent ", n)} }))
	}
}

// run changes the database past the log, and returns how many rows.
func run(t *testing.T, dsn, statement string, args ...any) (n int64) {
	t.Helper()
	require.NoError(t, databases.Open(t, dsn).SQL().Write(context.WithoutCancel(t.Context()), func(tx sqldb.Tx) (err error) {
		n, err = tx.Exec(statement, args...)
		return err
	}))
	return n
}

func TestEachNodeHasAChain(t *testing.T) {
	t.Parallel()
	dsn := databases.DSN(t)
	a, b := chains(t, dsn, "a", oneKey), chains(t, dsn, "b", otherKey)
	empty, err := a.Empty()
	require.NoError(t, err)
	assert.True(t, empty)
	v, err := a.Verify()
	require.NoError(t, err, "there are no records")
	assert.Zero(t, v)

	var all sync.WaitGroup
	for range 4 { // of each node several processes
		for node, key := range map[string][]byte{"a": oneKey, "b": otherKey} {
			c := chains(t, dsn, node, key)
			all.Go(func() {
				for range 10 {
					assert.NoError(t, c.Append(func(n int64) any { return map[string]int64{"n": n} }))
				}
			})
		}
	}
	all.Wait()
	v, err = a.Verify()
	require.ErrorIs(t, err, audit.ErrOtherKey)
	assert.ErrorContains(t, err, "those of the nodes b ")
	assert.EqualValues(t, 40, v.Records)
	v, err = chains(t, dsn, "b", otherKey, oneKey).Verify()
	require.NoError(t, err)
	assert.EqualValues(t, 80, v.Records)
	require.Len(t, v.Nodes, 2)
	assert.True(t, strings.HasPrefix(v.Nodes[0], "a ") && strings.HasPrefix(v.Nodes[1], "b "), v.Nodes)

	add(t, b, 1)
	seen := map[int64]int{}
	var last error
	for data, err := range b.Records() {
		if last = err; err != nil {
			break
		}
		var r struct{ N int64 }
		require.NoError(t, json.Unmarshal(data, &r))
		seen[r.N]++
	}
	require.ErrorIs(t, last, audit.ErrOtherKey, "the records of the others are not silently left out")
	assert.Len(t, seen, 41)

	// A node that has lost its key begins another chain, and leaves the old one as it is.
	add(t, chains(t, dsn, "a", otherKey), 1)
	v, err = chains(t, dsn, "b", otherKey, oneKey).Verify()
	require.NoError(t, err)
	assert.EqualValues(t, 82, v.Records)
	assert.Len(t, v.Nodes, 3)
}

// TestWhatSomebodyChangesInTheDatabaseIsFound: whoever can write to it has no key.
func TestWhatSomebodyChangesInTheDatabaseIsFound(t *testing.T) {
	t.Parallel()
	dsn, node := databases.DSN(t), "a "+oneChain
	add(t, chains(t, dsn, "a", oneKey), 1200)
	require.EqualValues(t, 1, run(t, dsn, `UPDATE audit_chain SET node = node WHERE node = $1`, node))
	run(t, dsn, `CREATE TABLE records AS SELECT * FROM audit_record`)
	run(t, dsn, `CREATE TABLE ends AS SELECT * FROM audit_chain`)
	t.Cleanup(func() { run(t, dsn, `DROP TABLE records, ends`) })
	for i, change := range []string{
		`UPDATE audit_record SET body = replace(body, 'agent 3', 'agent 4') WHERE node = $1 AND n = 3`,
		`UPDATE audit_record SET tag = replace(tag, 'a', 'b') WHERE node = $1 AND n = 700`,
		`DELETE FROM audit_record WHERE node = $1 AND n = 4`,
		`DELETE FROM audit_record WHERE node = $1 AND n = 1`,
		`DELETE FROM audit_record WHERE node = $1 AND n = 1200`,
		`DELETE FROM audit_record WHERE node = $1 AND n > 600`,
		`DELETE FROM audit_record WHERE node = $1`,
		`DELETE FROM audit_chain WHERE node = $1`,
		`INSERT INTO audit_record SELECT node, 1201, project, tag, body FROM audit_record WHERE node = $1 AND n = 1200`,
		`UPDATE audit_record SET n = CASE n WHEN 5 THEN -6 ELSE -5 END WHERE node = $1 AND n IN (5, 6)`,
		`UPDATE audit_chain SET n = n - 1 WHERE node = $1`,
		`UPDATE audit_chain SET tag = (SELECT tag FROM audit_record r WHERE r.node = $1 AND r.n = 1199) WHERE node = $1`,
		`WITH moved AS (UPDATE audit_record SET node = 'b '||right(node, 8) WHERE node = $1) UPDATE audit_chain SET node = 'b '||right(node, 8) WHERE node = $1`,
		// What the log itself cuts off when it is put back, with the end that it had then.
		`WITH cut AS (DELETE FROM audit_record WHERE node = $1 AND n = 1200)
			UPDATE audit_chain SET n = 1199, tag = (SELECT tag FROM audit_record r WHERE r.node = $1 AND r.n = 1199) WHERE node = $1`,
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			for _, statement := range []string{`DELETE FROM audit_record`, `DELETE FROM audit_chain`,
				`INSERT INTO audit_record SELECT * FROM records`, `INSERT INTO audit_chain SELECT * FROM ends`} {
				run(t, dsn, statement)
			}
			_, err := chains(t, dsn, "a", oneKey).Verify()
			require.NoError(t, err)
			require.NotZero(t, run(t, dsn, change, node), "it has changed something")
			_, err = chains(t, dsn, "a", oneKey).Verify()
			require.ErrorIs(t, err, audit.ErrDamaged)
			t.Log(err)
		})
	}
}

// TestARunningNodeFindsThatItsChainWasPutBack, with an end that was once right.
func TestARunningNodeFindsThatItsChainWasPutBack(t *testing.T) {
	t.Parallel()
	dsn := databases.DSN(t)
	c := chains(t, dsn, "a", oneKey)
	add(t, c, 3)
	run(t, dsn, `CREATE TABLE before AS SELECT * FROM audit_chain`)
	t.Cleanup(func() { run(t, dsn, `DROP TABLE before`) })
	add(t, c, 2)
	run(t, dsn, `DELETE FROM audit_record WHERE n > 3`)
	run(t, dsn, `DELETE FROM audit_chain`)
	run(t, dsn, `INSERT INTO audit_chain SELECT * FROM before`)
	_, err := c.Verify()
	require.NoError(t, err, "nothing in the database shows it")
	for range 2 {
		err = c.Append(func(int64) any { return 1 })
		require.ErrorIs(t, err, audit.ErrDamaged)
		assert.ErrorContains(t, err, "ends with record 3, and had 5")
	}
}

func TestAKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "audit")
	var mu sync.Mutex
	keys := map[string]bool{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			key, err := audit.Key(dir)
			assert.NoError(t, err)
			mu.Lock()
			keys[string(key)] = true
			mu.Unlock()
		})
	}
	all.Wait()
	assert.Len(t, keys, 1)
	l := audit.NewLog(dir, nil)
	fill(t, l, 1)
	v, err := l.Verify()
	require.NoError(t, err)
	assert.EqualValues(t, 1, v.Records)
	assert.Len(t, read(t, dir)["key"], 64)
}
