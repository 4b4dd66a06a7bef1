package limit

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	_ "modernc.org/sqlite" // the driver
)

// database keeps each message as a row.
type database struct{ *sql.DB }

func openDatabase(ctx context.Context, path string) (*database, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // SQLite has one writer
	if _, err := db.ExecContext(ctx, `CREATE TABLE message (conversation INT, n INT, body TEXT, PRIMARY KEY (conversation, n))`); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &database{db}, nil
}

// row is how a message is kept.
type row struct {
	Role  role   `json:"role"`
	Text  string `json:"text,omitzero"`
	Calls []call `json:"calls,omitzero"`
	ID    string `json:"id,omitzero"`
}

// keep stores the messages of a turn in one transaction.
func (db *database) keep(ctx context.Context, conversation, from int, turn []message) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	for i, m := range turn {
		body, err := json.Marshal(row{m.role, m.text, m.calls, m.id})
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO message VALUES (?, ?, ?)`, conversation, from+i, string(body)); err != nil {
			return err
		}
	}
	return tx.Commit()
}
