package documents

import (
	"context"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// Document is one of any kind and project.
type Document struct {
	Kind, Project, Name string
	// Body is JSON.
	Body []byte
}

// All returns the documents of all kinds and projects, ordered by kind, project and name.
func All(ctx context.Context, db *pgdb.DB) (out []Document, err error) {
	err = db.Read(ctx, func(q pgdb.Queryer) error {
		rows, err := q.Query(ctx, `SELECT kind, project, name, body FROM document ORDER BY kind, project, name`+sqldb.AnyTenant)
		if err != nil {
			return err
		}
		defer rows.Close()
		out = nil
		for rows.Next() {
			var d Document
			var project, name []byte
			if err := rows.Scan(&d.Kind, &project, &name, &d.Body); err != nil {
				return err
			}
			d.Project, d.Name = string(project), string(name)
			out = append(out, d)
		}
		return rows.Err()
	})
	return out, err
}

// Add adds the documents in one step. One that is there is an error, and nothing is added.
func Add(ctx context.Context, db *pgdb.DB, docs []Document) error {
	return db.Write(ctx, func(tx pgdb.Tx) error {
		for _, d := range docs {
			_, err := tx.Exec(ctx, `INSERT INTO document (kind, project, name, body) VALUES ($1, $2, $3, $4)`, d.Kind, []byte(d.Project), []byte(d.Name), d.Body)
			if err != nil {
				return err
			}
		}
		return nil
	})
}
