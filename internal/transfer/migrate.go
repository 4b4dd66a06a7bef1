package transfer

import (
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/jobs/river"
)

// Versions are those of the schema of a database. 0 is an empty database.
type Versions struct {
	Before int `json:"before"`
	After  int `json:"after"`
	// Known is that of this program. A newer program may have made After higher.
	Known int `json:"known"`
}

// Migrate makes the tables of a database, or upgrades them, in one transaction, and then those of the job engine. If it is
// dry it only says what there is: After is what it would be.
func Migrate(ctx context.Context, dsn string, dry bool) (v Versions, err error) {
	v.Known = pgdb.Version()
	if v.Before, err = version(ctx, dsn); err != nil {
		return v, err
	}
	if dry {
		v.After = max(v.Before, v.Known)
		return v, nil
	}
	db, err := pgdb.Open(ctx, dsn, &pgdb.Options{Connections: 2})
	if err != nil {
		return v, err
	}
	defer db.Close()
	if v.After, err = db.SchemaVersion(ctx); err != nil {
		return v, err
	}
	return v, river.Migrate(ctx, db)
}

// version returns the version of the database's schema, of which it changes nothing.
func version(ctx context.Context, dsn string) (int, error) {
	db, err := pgdb.Open(ctx, dsn, &pgdb.Options{Connections: 1, AsItIs: true})
	if err != nil {
		return 0, err
	}
	defer db.Close()
	return db.SchemaVersion(ctx)
}

// upgraded returns an error unless this program can use the database as it is.
func upgraded(ctx context.Context, dsn string) error {
	v, err := version(ctx, dsn)
	switch {
	case err != nil:
		return err
	case v == 0:
		return errors.New("the database has no tables of this program; `grapnel store migrate` makes them")
	case v < pgdb.Version():
		return fmt.Errorf("the database has schema version %d, and this program needs %d; `grapnel store migrate` upgrades it", v, pgdb.Version())
	}
	return nil
}
