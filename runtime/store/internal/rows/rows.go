// Package rows names the tables and columns that every store with a database has, so that its rows
// can be copied to another one.
package rows

import (
	"fmt"
	"strings"
)

// Kind is the type of a column.
type Kind byte

// The kinds. Bytes are texts that need not be valid UTF-8 in PostgreSQL's sense: they may have a NUL.
const (
	Number Kind = 'n'
	Text   Kind = 't'
	Bytes  Kind = 'b'
	Flag   Kind = 'f'
)

// Column is a column of a table.
type Column struct {
	Name string
	Kind Kind
}

// Table is a table with the columns that are copied.
type Table struct {
	Name string
	// Of: the rows are of conversations, and the first value of each is the id of one, in addition to
	// the columns.
	Of      bool
	Columns []Column
	// Order are the columns that order the rows, within a conversation if Of.
	Order string
}

// Tables are all tables, each before those that refer to it. The words of the index are not among
// them: each store makes its own. Nor are the ends of leases: no lease survives a copy.
var Tables = []Table{
	{"conversation", false, columns("id:t project:b agent:b sender:b parent:t created:n updated:n version:n turns:n messages:n first:n archived:n " +
		"branches:n noted:n entries:n events:n owner:t epoch:n"), "num"},
	{"message", true, columns("seq:n turn:n body:b"), "seq"},
	{"archive", true, columns("branch:n pos:n seq:n turn:n summary:f body:b"), "branch, pos"},
	{"entry", true, columns("seq:n kind:t call_id:b message:b data:b"), "seq"},
	{"archived_entry", true, columns("branch:n seq:n kind:t call_id:b message:b data:b"), "branch, seq"},
	{"event", true, columns("seq:n body:b"), "seq"},
	{"state", true, columns("name:b data:b"), "name"},
	{"job", false, columns("num:n project:b kind:b key:b payload:b version:n contract:n conversation:t turn:t status:t attempts:n due:n owner:t " +
		"epoch:n failure:b created:n updated:n"), "num"},
	{"hook_run", false, columns("project:b id:b conversation:b subsystem:b status:b body:b"), "num"},
	{"spent", false, columns("day:t project:b agent:b model:b token:b calls:n unpriced:n estimated:n input:n output:n cache_read:n cache_write:n " +
		"reasoning:n cost:n"), "day, project, agent, model, token"},
	{"reserved", false, columns("num:n day:t project:b agent:b model:b token:b unpriced:n input:n least:n most:n until:n"), "num"},
	{"erased", false, columns("id:t at:n"), "id"},
}

// columns reads "name:kind name:kind".
func columns(text string) (out []Column) {
	for word := range strings.FieldsSeq(text) {
		name, kind, _ := strings.Cut(word, ":")
		out = append(out, Column{name, Kind(kind[0])})
	}
	return out
}

// Names returns the names of the columns.
func (t Table) Names() []string {
	out := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = c.Name
	}
	return out
}

// Value returns a value that a driver has read as an int64, a string or nil.
func Value(v any) (any, error) {
	switch v := v.(type) {
	case nil, int64, string:
		return v, nil
	case int32:
		return int64(v), nil
	case []byte:
		if v == nil {
			return nil, nil
		}
		return string(v), nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	}
	return nil, fmt.Errorf("a value of the type %T cannot be copied", v)
}

// ByName returns the table of that name.
func ByName(name string) (Table, bool) {
	for _, t := range Tables {
		if t.Name == name {
			return t, true
		}
	}
	return Table{}, false
}
