package transfer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/internal/app"
	document "github.com/grapnel-go/grapnel/internal/pgdb/documents"
	"github.com/grapnel-go/grapnel/internal/sqldb"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// tables are memories or schedules.
type tables struct {
	of interface {
		Rows(ctx context.Context, each sqldb.Each) error
		Load(ctx context.Context, from func(ctx context.Context, each sqldb.Each) error) error
	}
}

// Rows implements store.Copier.
func (t tables) Rows(ctx context.Context, each func(store.Row) error) error {
	return t.of.Rows(ctx, func(table string, values []any) error { return each(store.Row{Table: table, Values: values}) })
}

// Load implements store.Copier.
func (t tables) Load(ctx context.Context, from func(context.Context, func(store.Row) error) error) error {
	err := t.of.Load(ctx, func(ctx context.Context, each sqldb.Each) error {
		return from(ctx, func(r store.Row) error { return each(r.Table, r.Values) })
	})
	if errors.Is(err, sqldb.ErrNotEmpty) {
		return fmt.Errorf("%w (%w)", store.ErrNotEmpty, err)
	}
	return err
}

// documentsPart is the name of the part that a copy may add to: in files it comes in several steps.
const documentsPart = "documents"

// documents are small documents by kind, project and name.
type documents struct{ of *app.Stores }

// all returns them in their order.
func (d documents) all(ctx context.Context) ([]document.Document, error) {
	out, err := d.of.AllDocuments(ctx)
	slices.SortFunc(out, byPlace)
	return out, err
}

func byPlace(a, b document.Document) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Project, b.Project), cmp.Compare(a.Name, b.Name))
}

// Rows implements store.Copier.
func (d documents) Rows(ctx context.Context, each func(store.Row) error) error {
	all, err := d.all(ctx)
	if err != nil {
		return err
	}
	for _, doc := range all {
		if err := each(store.Row{Table: doc.Kind, Values: []any{doc.Project, doc.Name, string(doc.Body)}}); err != nil {
			return err
		}
	}
	return nil
}

// Load implements store.Copier. Documents that are there already and the same stay.
func (d documents) Load(ctx context.Context, from func(context.Context, func(store.Row) error) error) error {
	have, err := d.all(ctx)
	if err != nil {
		return err
	}
	var add []document.Document
	err = from(ctx, func(r store.Row) error {
		var texts [3]string
		for i, v := range r.Values {
			texts[i], _ = v.(string)
		}
		doc := document.Document{Kind: r.Table, Project: texts[0], Name: texts[1], Body: []byte(texts[2])}
		at, found := slices.BinarySearchFunc(have, doc, byPlace)
		switch {
		case !found:
			add = append(add, doc)
		case string(have[at].Body) != string(doc.Body):
			return fmt.Errorf("%w: another %s %.80q", store.ErrNotEmpty, doc.Kind, doc.Name)
		default:
			have = slices.Delete(have, at, at+1)
		}
		return nil
	})
	if err == nil && len(have) > 0 {
		err = fmt.Errorf("%w: the %s %.80q", store.ErrNotEmpty, have[0].Kind, have[0].Name)
	}
	if err != nil {
		return err
	}
	return d.of.AddDocuments(ctx, add)
}

func (d documents) damaged(ctx context.Context) (out []string, err error) {
	all, err := d.all(ctx)
	for _, doc := range all {
		if !json.Valid(doc.Body) {
			out = append(out, fmt.Sprintf("%s %q of %q is no JSON", doc.Kind, doc.Name, doc.Project))
		}
	}
	return out, err
}

// conversations is a store of conversations.
type conversations struct{ of app.Whole }

// The places of values in a row of a conversation.
const (
	messagesAt = 9
	firstAt    = 10
	entriesAt  = 14
)

// counted is how many rows a conversation has and has to have.
type counted struct{ messages, entries, hasMessages, hasEntries int64 }

// damaged reads each conversation as a turn does, and counts its rows.
func (c conversations) damaged(ctx context.Context) (out []string, err error) {
	var ids []string
	counts := map[string]*counted{}
	err = c.of.Rows(ctx, func(r store.Row) error {
		id, _ := r.Values[0].(string)
		switch r.Table {
		case "conversation":
			var n counted
			next, _ := r.Values[messagesAt].(int64)
			first, _ := r.Values[firstAt].(int64)
			n.messages = next - first
			n.entries, _ = r.Values[entriesAt].(int64)
			ids, counts[id] = append(ids, id), &n
		case "message":
			counts[id].hasMessages++
		case "entry":
			counts[id].hasEntries++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		n := counts[id]
		if n.hasMessages != n.messages || n.hasEntries != n.entries {
			out = append(out, fmt.Sprintf("conversation %s: %d of %d messages and %d of %d journal entries are there", id, n.hasMessages, n.messages, n.hasEntries, n.entries))
		}
		for _, err := range c.read(ctx, id) {
			out = append(out, err.Error())
		}
	}
	return out, ctx.Err()
}

// read returns what is damaged in the conversation.
func (c conversations) read(ctx context.Context, id string) (errs []error) {
	add := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	_, err := c.of.Messages(ctx, id)
	add(err)
	_, err = c.of.Journal(ctx, id)
	add(err)
	_, err = c.of.Archive(ctx, id)
	add(err)
	_, err = c.of.States(ctx, id)
	add(err)
	const atOnce = 1000
	for after := uint64(0); ; {
		events, err := c.of.Events(ctx, id, after, atOnce)
		add(err)
		if err != nil || len(events) == 0 {
			return errs
		}
		after = events[len(events)-1].Seq
	}
}
