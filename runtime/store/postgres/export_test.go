package postgres

import "github.com/grapnel-go/grapnel/internal/pgdb"

// Watched returns a tenant's store that shows each statement, before it is completed and sent.
func Watched(s *Store, watch func(sql string, args []any)) *Store {
	return &Store{database: s.database, tenant: s.tenant, db: s.db.Bound(func(sql string, args []any) (string, []any, error) {
		watch(sql, args)
		return s.tenant.bind(sql, args)
	})}
}

// Sent completes statements as s sends them.
func Sent(s *Store) pgdb.Binder {
	if s.tenant != nil {
		return s.tenant.bind
	}
	return s.bindAll
}

// Errors and texts that tests compare.
var ErrNoTenant = errNoTenant

const AnyTenant = anyTenant
