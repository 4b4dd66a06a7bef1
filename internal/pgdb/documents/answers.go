package documents

import (
	"context"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// Answers keeps the remembered answers of package approval. Who can write to the database can answer
// for people, as who can write to their files.
type Answers struct {
	DB *pgdb.DB
	// Owner is the owner of the projects that Each goes through; "" is the user of the daemon, who sees all.
	Owner string
}

const (
	answersOfAll = `SELECT project, name, body FROM document WHERE kind = $1 ORDER BY project, name` + sqldb.AnyTenant
	// An owner's projects begin with the owner and a colon, as package tenant says.
	answersOfOwner = `SELECT project, name, body FROM document WHERE kind = $1 AND substring(project FROM 1 FOR octet_length($2::bytea)) = $2 ORDER BY project, name`
)

// Read implements approval.Store.
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

// Write implements approval.Store.
func (a Answers) Write(project, name string, document []byte) error {
	return a.exec(`INSERT INTO document (kind, project, name, body) VALUES ($1, $2, $3, $4)
		ON CONFLICT (kind, project, name) DO UPDATE SET body = excluded.body`, Approvals, []byte(project), []byte(name), document)
}

// Remove implements approval.Store.
func (a Answers) Remove(project, name string) error {
	return a.exec(`DELETE FROM document WHERE kind = $1 AND project = $2 AND name = $3`, Approvals, []byte(project), []byte(name))
}

func (a Answers) exec(query string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	return a.DB.Write(ctx, func(tx pgdb.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}

// Each implements approval.Store.
func (a Answers) Each(f func(project, name string, document []byte, err error)) error {
	type answer struct{ project, name, document []byte }
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	query, args := answersOfAll, []any{Approvals}
	if a.Owner != "" {
		query, args = answersOfOwner, []any{Approvals, []byte(a.Owner + ":")}
	}
	var all []answer
	err := a.DB.Read(ctx, func(q pgdb.Queryer) error {
		rows, err := q.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		all = nil
		for rows.Next() {
			var d answer
			if err := rows.Scan(&d.project, &d.name, &d.document); err != nil {
				return err
			}
			all = append(all, d)
		}
		return rows.Err()
	})
	for _, d := range all {
		f(string(d.project), string(d.name), d.document, nil)
	}
	return err
}
