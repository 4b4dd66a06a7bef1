package memory

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// Sentinels that callers test with errors.Is.
var (
	// ErrChanged: the project and the user have no memory with this id.
	ErrChanged = errors.New("no memory has this id: it was forgotten, or has changed since it was listed")
	// ErrContent: the text cannot be that of a memory.
	ErrContent = errors.New("this cannot be remembered")
)

// maxContent is the longest text of a memory, in bytes; it is that of [RememberInput].
const maxContent = 64 << 10

func idOf(num, updated int64) string { return fmt.Sprintf("%d-%d", num, updated) }

// Rewrite gives the memory with the id a text that a person has written, and returns it. Its origin is the user then, and no
// conversation may replace it without asking. It keeps its sources, and is deleted with them. Aliases stay if a person or a model that had read nothing else chose them. ErrChanged;
// ErrContent, with the reason.
func (m *Memory) Rewrite(ctx context.Context, id, content string) (Remembered, error) {
	switch {
	case strings.TrimSpace(content) == "":
		return Remembered{}, fmt.Errorf("%w: it is blank; forget the memory if nothing of it is left", ErrContent)
	case len(content) > maxContent || !utf8.ValidString(content):
		return Remembered{}, fmt.Errorf("%w: it has %d bytes; %d bytes of UTF-8 are the most", ErrContent, len(content), maxContent)
	case hasKey(content):
		return Remembered{}, fmt.Errorf("%w: it looks like a key or a password, which is never kept; say where it can be found instead", ErrContent)
	}
	content = m.table.masked(entry{content: content}).content
	var num int64
	err := m.table.changeMemory(ctx, id, func(tx sqldb.Tx, old row, by label, updated int64) error {
		now := old
		if now.content = content; !by.own() {
			now.aliases = "[]"
		}
		err := m.table.words.remove(tx, old)
		if err == nil {
			num = old.num
			_, err = tx.Exec(`UPDATE memory SET content = $3, aliases = $4, conversation = '', origin = $5, trust = $6, confidence = 1, updated = $7
				WHERE num = $1 AND`+ofProject, old.num, old.project, now.content, now.aliases, OriginUser, message.TrustWorkspace, max(m.table.now().UnixNano(), updated+1))
		}
		if err == nil {
			err = m.table.words.add(tx, now)
		}
		return err
	})
	if err != nil {
		return Remembered{}, fmt.Errorf("write a memory anew: %w", err)
	}
	all, err := m.list(ctx, selectRemembered+` WHERE m.num = $3 AND`+ofTenant, m.table.project, m.table.user, num)
	if err == nil && len(all) == 0 {
		err = ErrChanged
	}
	if err != nil {
		return Remembered{}, err
	}
	return all[0], nil
}

// Discard removes the memory with the id for good, and what waits under its name: no file has its text then. ErrChanged.
func (m *Memory) Discard(ctx context.Context, id string) error {
	err := m.table.changeMemory(ctx, id, func(tx sqldb.Tx, old row, _ label, _ int64) error {
		_, err := tx.Exec(`DELETE FROM candidate WHERE key = $3 AND space = $1 AND`+ofSpace, old.space().num, old.project, key(old.name))
		if err != nil {
			return err
		}
		return m.table.remove(tx, sourced{num: old.num, project: old.project}, false)
	})
	if err == nil {
		err = m.table.db.Scrub(ctx)
	}
	if err != nil {
		return fmt.Errorf("forget a memory: %w", err)
	}
	return nil
}

// changeMemory is write for the memory with the id, which f gets with its label and the time of its last change.
func (t *table) changeMemory(ctx context.Context, id string, f func(tx sqldb.Tx, old row, by label, updated int64) error) error {
	first, second, _ := strings.Cut(id, "-")
	num, wrong := strconv.ParseInt(first, 10, 64)
	updated, wrongToo := strconv.ParseInt(second, 10, 64)
	if wrong != nil || wrongToo != nil {
		return ErrChanged
	}
	old, by := row{num: num}, label{}
	find := func(r sqldb.Reader) error {
		err := r.One(`SELECT s.project, m.name, m.aliases, m.content, m.origin, m.trust FROM memory m JOIN space s ON s.num = m.space
			WHERE m.num = $3 AND m.updated = $4 AND`+ofTenant, t.project, t.user, num, updated).
			Scan(&old.project, &old.name, &old.aliases, &old.content, &by.origin, &by.trust)
		if isNone(err) {
			return ErrChanged
		}
		return err
	}
	if err := t.db.Read(ctx, find); err != nil {
		return err
	}
	return t.write(ctx, []string{old.project}, func(tx sqldb.Tx) error {
		if err := find(tx); err != nil { // it may have changed before the lock
			return err
		}
		return f(tx, old, by, updated)
	})
}
