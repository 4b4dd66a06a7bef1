package sqlitedb

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestAFailureIsNoDamage: who is told that the file is damaged throws it away.
func TestAFailureIsNoDamage(t *testing.T) {
	t.Parallel()
	db := &DB{path: "/a b/x.db"}
	assert.Equal(t, "a check of the rest of the file found no damage", db.outcome(nil, nil))
	assert.Equal(t, "the pages of the old one are still in the file (context deadline exceeded); run `sqlite3 '/a b/x.db' VACUUM`",
		db.outcome(nil, context.DeadlineExceeded))
	assert.Equal(t, "the rest of the file could not be checked (context canceled); run `sqlite3 '/a b/x.db' 'PRAGMA quick_check'`",
		db.outcome(context.Canceled, nil))
	assert.Contains(t, db.outcome(errUnsound, nil), "something else in the file is damaged too (a check found); to go on with a backup")
}
