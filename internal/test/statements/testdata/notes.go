// Package notes has statements of each form that Literals reads. Nothing compiles it.
package notes

const (
	all   = `SELECT text FROM note`
	ofOne = ` WHERE project = $1`
)

func query(order string) string { return all + ofOne + " ORDER BY " + order }

func remove(do func(sql string)) {
	do("DELETE FROM note" + ofOne)
	do("nothing of SQL")
}
