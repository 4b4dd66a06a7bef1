package audit

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// Chains is the record in a PostgreSQL database, which several nodes share: a chain of records for each
// node, as that of a [Log]. A node appends to its own chain and waits for no other. Its key stays on its
// disk. Who has the keys of all nodes can check all chains; nodes may have the same key.
//
// It is safe for concurrent use, also by several processes of one node.
type Chains struct {
	db   sqldb.DB
	o    ChainsOptions
	node string // of the chain

	mu sync.Mutex
	// last is where the chain ends as far as this process knows; nil before the first record, and
	// after an error.
	last *end
	// most is the highest number that this process has seen.
	most int64
}

// ChainsOptions are the settings of [Chains]. Node and Key are required.
type ChainsOptions struct {
	// Node names the machine, and the chain together with what tells its key from others. A node that
	// loses its key begins another chain.
	Node string
	// Key is the key of the node's chain; see [Key].
	Key []byte
	// Others are keys of other nodes, to check their chains.
	Others [][]byte
	// Project is that of the node's records.
	Project string
}

// appendTime bounds Append, whose callers have no context.
const appendTime = 30 * time.Second

// ErrOtherKey is the error of chains whose key is not at hand: nobody can say whether they were changed.
var ErrOtherKey = errors.New("audit: a chain was written with another key")

// NewChains returns the record in the database, which has its tables. It panics without a node or a key.
func NewChains(db sqldb.DB, o ChainsOptions) *Chains {
	if o.Node == "" || len(o.Key) == 0 {
		panic("audit: NewChains: Node and Key are required")
	}
	return &Chains{db: db, o: o, node: o.Node + " " + fingerprint(o.Key)[:8]}
}

// end is where a chain ends.
type end struct {
	node string
	n    int64
	tag  string
}

// start is the end of a chain without records.
func start(node string) end { return end{node: node, tag: "node " + node} }

func (e end) seal(key []byte) string {
	return tag(key, "head", fmt.Appendf(nil, "%q %d %s", e.node, e.n, e.tag))
}

// then returns the end behind one more record.
func (e end) then(key, record []byte) end { return end{e.node, e.n + 1, tag(key, e.tag, record)} }

// fingerprint says which key it is, and nothing about it.
func fingerprint(key []byte) string { return tag(key, "key", nil)[:16] }

// Append adds a record to the node's chain, which record returns for its number. When Append returns, a
// loss of power leaves it. An error that is [ErrDamaged] says that the end of the chain was changed;
// nothing is added then.
func (c *Chains) Append(record func(n int64) any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), appendTime)
	defer cancel()
	for {
		if c.last == nil {
			if err := c.load(ctx); err != nil {
				return err
			}
		}
		data, err := json.Marshal(record(c.last.n + 1))
		if err != nil {
			return err
		}
		if len(data) > maxRecord {
			return fmt.Errorf("audit: a record has %d bytes, more than %d", len(data), maxRecord)
		}
		next := c.last.then(c.o.Key, data)
		added, err := c.add(ctx, *c.last, next, data)
		if err == nil && added {
			c.last, c.most = &next, next.n
			return nil
		}
		c.last = nil // another process of this node has appended, or nobody knows
		if err != nil {
			return err
		}
	}
}

const (
	firstRecord = `WITH head AS (INSERT INTO audit_chain (node, n, tag, seal) SELECT $1, $2, $3, $4 WHERE $7 = '' ON CONFLICT DO NOTHING RETURNING node)
		INSERT INTO audit_record (node, n, project, tag, body) SELECT node, $2, $5, $3, $6 FROM head`
	nextRecord = `WITH head AS (UPDATE audit_chain SET n = $2, tag = $3, seal = $4 WHERE node = $1 AND n = $2 - 1 AND tag = $7 RETURNING node)
		INSERT INTO audit_record (node, n, project, tag, body) SELECT node, $2, $5, $3, $6 FROM head`
)

// add adds the record and moves the end of the chain, unless that is elsewhere by now.
func (c *Chains) add(ctx context.Context, last, next end, record []byte) (added bool, err error) {
	query, more := nextRecord, last.tag
	if last.n == 0 {
		query, more = firstRecord, ""
	}
	err = c.db.Write(ctx, func(tx sqldb.Tx) error {
		n, err := tx.Exec(query, next.node, next.n, next.tag, next.seal(c.o.Key), c.o.Project, string(record), more)
		added = n > 0
		return err
	})
	return added, err
}

// load reads where the node's chain ends.
func (c *Chains) load(ctx context.Context) error {
	chains, err := c.chains(ctx, c.node)
	if err != nil {
		return err
	}
	last := start(c.node)
	if len(chains) > 0 {
		if err := chains[0].check(c.o.Key); err != nil {
			return err
		}
		last = chains[0].end
	}
	if last.n < c.most {
		return damaged("the chain of the node %s ends with record %d, and had %d", c.node, last.n, c.most)
	}
	c.last = &last
	return nil
}

// chain is a chain as the database has it.
type chain struct {
	end
	seal string
	// records is the number of its last record.
	records int64
}

// check checks what is known of the chain's end.
func (c chain) check(key []byte) error {
	switch {
	case c.seal == "":
		return damaged("the end of the chain of the node %s is not there", c.node)
	case !hmac.Equal([]byte(c.seal), []byte(c.end.seal(key))):
		return damaged("the end of the chain of the node %s is not that of the program", c.node)
	case c.records != c.n:
		return damaged("the chain of the node %s has records up to %d, and its end says %d", c.node, c.records, c.n)
	}
	return nil
}

// chains returns the chains in the order of their nodes; node is the only one that is wanted, "" is all.
func (c *Chains) chains(ctx context.Context, node string) (all []chain, err error) {
	err = c.db.Read(ctx, func(r sqldb.Reader) error {
		all = nil
		return r.Each(func(row sqldb.Row) error {
			var one chain
			err := row.Scan(&one.node, &one.n, &one.tag, &one.seal, &one.records)
			all = append(all, one)
			return err
		}, `SELECT node, coalesce(c.n, 0), coalesce(c.tag, ''), coalesce(c.seal, ''), coalesce(r.n, 0)
			FROM audit_chain c FULL JOIN (SELECT node, max(n) AS n FROM audit_record WHERE $1 = '' OR node = $1 GROUP BY node) r USING (node)
			WHERE $1 = '' OR node = $1 ORDER BY node`, node)
	})
	return all, err
}

// Verify checks all records of all nodes whose keys are at hand. The error is [ErrDamaged] with the place
// of the first record that was changed, is missing or is not in its place, and else [ErrOtherKey] with the
// nodes that could not be checked. It does not find a chain that was removed as a whole, or put back to
// what it was before while no process of its node ran.
func (c *Chains) Verify() (Verified, error) {
	var v Verified
	others, err := c.read(func(node string, _ []byte) bool {
		v.Records++
		if n := len(v.Nodes); n == 0 || v.Nodes[n-1] != node {
			v.Nodes = append(v.Nodes, node)
		}
		return true
	})
	if err == nil {
		err = unchecked(others)
	}
	return v, err
}

func unchecked(nodes []string) error {
	if len(nodes) == 0 {
		return nil
	}
	return fmt.Errorf("%w: those of the nodes %s were not checked; check them there, or with the keys of these nodes", ErrOtherKey, strings.Join(nodes, ", "))
}

// Records yields the records as JSON, node by node, the oldest first, and checks them. After an error it
// ends; the last one may be [ErrOtherKey], with the nodes whose records were left out.
func (c *Chains) Records() iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		stopped := false
		others, err := c.read(func(_ string, record []byte) bool {
			stopped = !yield(record, nil)
			return !stopped
		})
		if err == nil {
			err = unchecked(others)
		}
		if err != nil && !stopped {
			yield(nil, err)
		}
	}
}

// page is how many records are read at a time.
const page = 500

// read calls each with the records of all chains until it returns false. others are the nodes whose keys
// are not at hand.
func (c *Chains) read(each func(node string, record []byte) bool) (others []string, err error) {
	ctx := context.Background()
	all, err := c.chains(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		key := c.keyOf(one)
		if key == nil {
			others = append(others, one.node)
			continue
		}
		if err := one.check(key); err != nil {
			return nil, err
		}
		goOn, err := c.readOne(ctx, one, key, each)
		if err != nil || !goOn {
			return nil, err
		}
	}
	return others, nil
}

// keyOf returns the key of the chain; nil if it is not at hand. The name of the chain says which one it is.
func (c *Chains) keyOf(one chain) []byte {
	for _, key := range append([][]byte{c.o.Key}, c.o.Others...) {
		if strings.HasSuffix(one.node, " "+fingerprint(key)[:8]) {
			return key
		}
	}
	return nil
}

func (c *Chains) readOne(ctx context.Context, one chain, key []byte, each func(node string, record []byte) bool) (goOn bool, err error) {
	type record struct{ tag, body string }
	at := start(one.node)
	for at.n < one.n {
		var records []record
		err := c.db.Read(ctx, func(r sqldb.Reader) error {
			records = nil
			return r.Each(func(row sqldb.Row) error {
				var r record
				err := row.Scan(&r.tag, &r.body)
				records = append(records, r)
				return err
			}, `SELECT tag, body FROM audit_record WHERE node = $1 AND n > $2 AND n <= $3 ORDER BY n LIMIT $4`, one.node, at.n, one.n, page)
		})
		if err != nil {
			return false, err
		}
		for _, r := range records {
			next := at.then(key, []byte(r.body))
			if next.tag != r.tag {
				return false, damaged("record %d of the node %s", next.n, one.node)
			}
			if at = next; !each(one.node, []byte(r.body)) {
				return false, nil
			}
		}
		if len(records) == 0 {
			return false, damaged("record %d of the node %s is not there", at.n+1, one.node)
		}
	}
	if at.tag != one.tag {
		return false, damaged("record %d of the node %s is not the one that its end has", at.n, one.node)
	}
	return true, nil
}

// Empty reports whether there are no records.
func (c *Chains) Empty() (bool, error) {
	all, err := c.chains(context.Background(), "")
	return len(all) == 0, err
}
