package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/internal/codec"
)

// firstMessage returns the beginning of a conversation's first message, from the archive if a
// summary stands for it.
const firstMessage = `SELECT substr(coalesce(
		(SELECT a.body FROM archive a WHERE a.conversation = c.num AND a.branch = 0 AND a.pos = 0),
		(SELECT m.body FROM message m WHERE m.num >= c.num << 32 AND m.num < (c.num + 1) << 32 ORDER BY m.num LIMIT 1)), 1, ?2)
		FROM conversation c WHERE c.id = ?1`

// Find implements store.Reader.
func (s *Store) Find(ctx context.Context, id string) (store.Record, error) {
	rec, err := s.titled(ctx, id)
	return rec, s.failed("find "+id, err)
}

// Titles implements store.Titles.
func (s *Store) Titles(ctx context.Context, ids []string) (map[string]string, error) {
	out := map[string]string{}
	for _, id := range ids {
		rec, err := s.titled(ctx, id)
		if err != nil && !errors.Is(err, store.ErrUnknown) {
			return nil, s.failed("find titles", err)
		}
		if rec.Title != "" {
			out[id] = rec.Title
		}
	}
	return out, nil
}

func (s *Store) titled(ctx context.Context, id string) (store.Record, error) {
	rec, err := scan(s.reads[byID].QueryRowContext(ctx, id))
	if errors.Is(err, sql.ErrNoRows) {
		return rec, unknown(id)
	}
	if err != nil {
		return rec, err
	}
	first, err := s.first(ctx, id)
	if err != nil && (ctx.Err() != nil || s.closed.Load()) {
		return store.Record{}, err
	}
	if err == nil {
		rec.Title = store.Title(first)
	}
	return rec, nil
}

// first returns the first message of a conversation, or the beginning that a title needs.
func (s *Store) first(ctx context.Context, id string) (message.Message, error) {
	read := func(most int) (body []byte, err error) {
		err = s.reads[firstMessage].QueryRowContext(ctx, id, most).Scan(&body)
		return body, err
	}
	body, err := read(codec.Beginning)
	if body == nil || err != nil {
		return message.Message{}, err
	}
	if m, ok := codec.DecodeBeginning(body); ok {
		return m, nil
	}
	if body, err = read(math.MaxInt32); err != nil {
		return message.Message{}, err
	}
	return codec.Decode(body)
}
