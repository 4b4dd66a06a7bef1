package memory

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// merge looks for a memory of the home that says what the entry says, and merges the two: the
// memory gets the entry's source, and the entry's names as aliases. It returns the name of the
// memory; "" if there is none. The text with more in it stays. An entry of a weaker origin
// changes neither text nor aliases: a page would choose by which words a memory is found. An entry with more in it is merged only if
// grow is true and the same conversation has written both; what people and models say, and what comes from tools and
// pages, are never merged.
func (t *table) merge(tx sqldb.Tx, h home, e entry, grow bool) (name string, err error) {
	in, err := spaceIn(tx, h)
	if err != nil {
		return "", orNone(err)
	}
	old, rel, err := t.twin(tx, in, e)
	if err != nil || rel == different || rel == beyond && (!grow || old.conversation != e.conversation) {
		return "", err
	}
	var aliases []string
	if err := json.Unmarshal([]byte(old.aliases), &aliases); err != nil {
		return "", err
	}
	weak := e.label.origin.strength() < old.label.origin.strength()
	for _, a := range append([]string{e.name}, e.aliases...) {
		if !weak && len(aliases) < maxAliases && key(a) != key(old.name) && !slices.Contains(aliases, a) {
			aliases = append(aliases, a)
		}
	}
	if err := t.words.remove(tx, old.row); err != nil {
		return "", err
	}
	text, err := json.Marshal(aliases)
	if err != nil {
		return "", err
	}
	old.aliases = string(text)
	if keep := old.label; rel == beyond && e.label.origin.strength() >= keep.origin.strength() || rel == same && e.label.origin.strength() > keep.origin.strength() {
		old.content, old.label = e.content, e.label
	}
	sources, err := withSource(old.sources, Source{e.conversation, e.turn})
	if err != nil {
		return "", err
	}
	_, err = tx.Exec(`UPDATE memory SET aliases = $3, content = $4, origin = $5, trust = $6, confidence = CASE WHEN confidence < $7 THEN $7 ELSE confidence END, sources = $8, updated = $9
		WHERE num = $10 AND space = $1 AND`+ofSpace, in.num, in.project, old.aliases, old.content, old.label.origin, old.label.trust, e.confidence, sources, t.now().UnixNano(), old.num)
	if err == nil {
		err = t.words.add(tx, old.row)
	}
	return old.name, err
}

// twin is a memory that says the same as an entry.
type twin struct {
	row
	label        label
	conversation string
	sources      string
}

// maxTwins is how many memories with similar words are compared.
const maxTwins = 5

// twin returns the memory of the space that says the same as the entry, and how the entry's
// text relates to its.
func (t *table) twin(tx sqldb.Tx, in space, e entry) (tw twin, rel relation, err error) {
	words := wanted(e.content)
	if len(words) == 0 || len(e.content) > maxCompared {
		return tw, different, nil
	}
	nums, err := t.words.twins(tx, in, words)
	if err != nil {
		return tw, different, err
	}
	tw.project = in.project
	for _, num := range nums {
		var kind Kind
		err := tx.One(`SELECT num, name, aliases, content, origin, trust, conversation, sources, kind FROM memory WHERE num = $3 AND space = $1 AND`+ofSpace, in.num, in.project, num).
			Scan(&tw.num, &tw.name, &tw.aliases, &tw.content, &tw.label.origin, &tw.label.trust, &tw.conversation, &tw.sources, &kind)
		if err != nil {
			return tw, different, orNone(err)
		}
		if e.label.own() != tw.label.own() {
			continue
		}
		if rel := compare(e.content, tw.content); rel != different && kind == e.kind && (speaks(e.content) || sameSubject(e.name, tw.name)) {
			return tw, rel, nil
		}
	}
	return tw, different, nil
}

// own reports whether a person or a model that had read nothing else has said it.
func (l label) own() bool { return cmp.Or(l.origin, OriginModel).strength() >= OriginModel.strength() }

// ownWords is the number of words from which a text says what it is about without its name.
const ownWords = 4

func speaks(content string) bool { return len(stems(content)) >= ownWords }

// sameSubject reports whether the names say the same: "Likes tea." under the names of two people
// is two memories.
func sameSubject(a, b string) bool { return slices.Equal(stems(a), stems(b)) }

// orNone returns nil if the error says that there is no row.
func orNone(err error) error {
	if isNone(err) {
		return nil
	}
	return err
}
