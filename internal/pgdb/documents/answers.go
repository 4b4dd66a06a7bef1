package documents

import (
	"context"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// Answers keeps the remembered answers of package approval. Who can write to the database can answer
// for people, as who can write to their files.
type Answers struct{ DB *pgdb.DB }

var _ approval.Store = Answers{}

// Read implements [approval.Store].
func (a Answers) Read(project, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	var body []byte
	err := a.DB.Read(ctx, func(q pgdb.Queryer) error {
		err := q.QueryRow(ctx, `SELECT body FROM document WHERE kind = $1 AND project = $2 AND name = $3`, Approvals, []byte(project), []byte(name)).Scan(&body)
		return ignoring(err, pgdb.ErrNoRows)
	})
	return body, err
}

// Write implements [approval.Store].
func (a Answers) Write(d approval.Document) error {
	return a.exec(`INSERT INTO document (kind, project, name, body) VALUES ($1, $2, $3, $4)
		ON CONFLICT (kind, project, name) DO UPDATE SET body = excluded.body`, Approvals, []byte(d.Project), []byte(d.Name), d.JSON)
}

// Remove implements [approval.Store].
func (a Answers) Remove(d approval.Document) error {
	return a.exec(`DELETE FROM document WHERE kind = $1 AND project = $2 AND name = $3`, Approvals, []byte(d.Project), []byte(d.Name))
}

func (a Answers) exec(query string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	return a.DB.Write(ctx, func(tx pgdb.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}

// All implements [approval.Store].
func (a Answers) All() (all []approval.Document, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	err = a.DB.Read(ctx, func(q pgdb.Queryer) error {
		rows, err := q.Query(ctx, `SELECT project, name, body FROM document WHERE kind = $1 ORDER BY project, name`, Approvals)
		if err != nil {
			return err
		}
		defer rows.Close()
		all = nil
		for rows.Next() {
			var project, name []byte
			var d approval.Document
			if err := rows.Scan(&project, &name, &d.JSON); err != nil {
				return err
			}
			d.Project, d.Name = string(project), string(name)
			all = append(all, d)
		}
		return rows.Err()
	})
	return all, err
}
