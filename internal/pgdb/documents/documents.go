// Package documents keeps small JSON documents in a PostgreSQL database: what files of the state
// directory hold where there is none, such as tokens and remembered answers. They are few, and change
// seldom.
package documents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/internal/pgdb"
)

// The kinds of documents.
const (
	Tokens    = "token"
	Approvals = "approval"
	Agents    = "agent"
	Deletions = "deletion"
)

// wait bounds one call, whose callers have no context.
const wait = 30 * time.Second

// Set are the documents of one kind and project, of type T. All processes with the database see a
// change at once. It is safe for concurrent use.
type Set[T any] struct {
	DB   *pgdb.DB
	Kind string
	// Project is the project that the documents belong to; "" is none.
	Project string
}

// Read returns all documents by name.
func (s Set[T]) Read() (docs map[string]T, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	err = s.DB.Read(ctx, func(q pgdb.Queryer) error {
		bodies, err := s.bodies(ctx, q)
		if err == nil {
			docs, err = s.decodeAll(bodies)
		}
		return err
	})
	return docs, err
}

// Change calls change with all documents, and keeps what that has left. Changes of the same set run
// one after the other, in all processes. After an error of change nothing is kept. change may be
// called again, after a lost connection.
func (s Set[T]) Change(change func(docs map[string]T) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	return s.DB.Write(ctx, func(tx pgdb.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1 || ' of ' || encode($2, 'hex'), 0))`, s.Kind, []byte(s.Project)); err != nil {
			return err
		}
		before, err := s.bodies(ctx, tx)
		if err != nil {
			return err
		}
		docs, err := s.decodeAll(before)
		if err == nil {
			err = change(docs)
		}
		if err != nil {
			return err
		}
		return s.replace(ctx, tx, before, docs)
	})
}

// replace writes the documents that differ from those before.
func (s Set[T]) replace(ctx context.Context, tx pgdb.Tx, before map[string][]byte, docs map[string]T) error {
	for name, doc := range docs {
		body, err := json.Marshal(doc)
		if err != nil {
			return err
		}
		if old, was := before[name]; was && string(old) == string(body) {
			continue
		}
		_, err = tx.Exec(ctx, `INSERT INTO document (kind, project, name, body) VALUES ($1, $2, $3, $4)
			ON CONFLICT (kind, project, name) DO UPDATE SET body = excluded.body`, s.Kind, []byte(s.Project), []byte(name), body)
		if err != nil {
			return err
		}
	}
	for name := range before {
		if _, stays := docs[name]; stays {
			continue
		}
		if _, err := tx.Exec(ctx, `DELETE FROM document WHERE kind = $1 AND project = $2 AND name = $3`, s.Kind, []byte(s.Project), []byte(name)); err != nil {
			return err
		}
	}
	return nil
}

func (s Set[T]) bodies(ctx context.Context, q pgdb.Queryer) (map[string][]byte, error) {
	rows, err := q.Query(ctx, `SELECT name, body FROM document WHERE kind = $1 AND project = $2`, s.Kind, []byte(s.Project))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[string][]byte{}
	for rows.Next() {
		var name, body []byte
		if err := rows.Scan(&name, &body); err != nil {
			return nil, err
		}
		out[string(name)] = body
	}
	return out, rows.Err()
}

func (s Set[T]) decodeAll(bodies map[string][]byte) (map[string]T, error) {
	out := make(map[string]T, len(bodies))
	for name, body := range bodies {
		doc, err := s.decode(name, body)
		if err != nil {
			return nil, err
		}
		out[name] = doc
	}
	return out, nil
}

func (s Set[T]) decode(name string, body []byte) (doc T, err error) {
	if err := json.Unmarshal(body, &doc); err != nil {
		return doc, fmt.Errorf("the %s %.80q in the database: %w", s.Kind, name, err)
	}
	return doc, nil
}

func ignoring(err, ignored error) error {
	if errors.Is(err, ignored) {
		return nil
	}
	return err
}
