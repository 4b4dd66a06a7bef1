package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
)

// Row is one row of what a store keeps, in the form that all stores have in common.
type Row struct {
	Table string
	// Values are int64, string or nil. A string may have any bytes.
	Values []any
}

// Copier is implemented by stores that can be copied whole: conversations with their ids, journals,
// events and states, jobs, runs, what was spent, and what was deleted. Leases are free in a copy.
type Copier interface {
	// Rows calls each with every row, always in the same order, as they were at one moment. An error of
	// each ends it.
	Rows(ctx context.Context, each func(Row) error) error
	// Load fills the store in one step with the rows that from calls each with, in the order of Rows. It
	// may call from twice. ErrNotEmpty if the store has anything.
	Load(ctx context.Context, from func(ctx context.Context, each func(Row) error) error) error
}

// ErrNotEmpty: a copy needs a store that has nothing.
var ErrNotEmpty = errors.New("store: there is something already where the copy is to go")

// Digest says what a table has.
type Digest struct {
	Table string
	Rows  int64
	// SHA256 is of all rows in their order, in hexadecimal digits.
	SHA256 string
}

// Digests returns the digests of the tables that have rows. Two stores with the same digests have the
// same rows.
func Digests(ctx context.Context, c Copier) ([]Digest, error) {
	var out []Digest
	var sum hash.Hash
	end := func() {
		if len(out) > 0 {
			out[len(out)-1].SHA256 = hex.EncodeToString(sum.Sum(nil))
		}
	}
	err := c.Rows(ctx, func(r Row) error {
		if len(out) == 0 || out[len(out)-1].Table != r.Table {
			end()
			out, sum = append(out, Digest{Table: r.Table}), sha256.New()
		}
		out[len(out)-1].Rows++
		return r.add(sum)
	})
	end()
	return out, err
}

// add writes the row so that no other row is written alike.
func (r Row) add(to hash.Hash) error {
	data := binary.AppendUvarint(nil, uint64(len(r.Values)))
	for _, v := range r.Values {
		switch v := v.(type) {
		case nil:
			data = append(data, 'x')
		case int64:
			data = binary.AppendVarint(append(data, 'n'), v)
		case string:
			data = append(binary.AppendUvarint(append(data, 's'), uint64(len(v))), v...)
		default:
			return fmt.Errorf("store: a row of %s has a value of the type %T", r.Table, v)
		}
	}
	_, err := to.Write(data)
	return err
}
