package app

import (
	"context"

	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/subsystems/sessions"
)

func newSessions(o Options) *sessions.Sessions {
	return sessions.New(&sessions.Options{Search: searchSessions(o.store, o.Paths.Project())})
}

// searchSessions searches the conversations of one project in the store.
func searchSessions(s Store, project string) sessions.Search {
	return func(ctx context.Context, q sessions.Query) ([]sessions.Match, error) {
		found, err := s.Search(ctx, store.Query{
			Text: q.Text, Project: project, Agent: q.Agent, Sender: q.Sender, Except: q.Except, Limit: q.Limit, Before: q.Before, After: q.After,
		})
		if err != nil {
			return nil, err
		}
		titles := map[string]string{}
		out := make([]sessions.Match, len(found))
		for i, m := range found {
			title, known := titles[m.Record.ID]
			if !known {
				rec, err := s.Find(ctx, m.Record.ID) // a found record has its title
				if err != nil {
					return nil, err
				}
				title = rec.Title
				titles[m.Record.ID] = title
			}
			out[i] = sessions.Match{
				Conversation: m.Record.ID, Title: title, Agent: m.Record.Key.Agent, Sender: m.Record.Key.Sender, Updated: m.Record.Updated,
				Message: m.Message, Archived: m.Archived, Summary: m.Summary, Role: m.Role, Snippet: m.Snippet,
			}
			for _, l := range m.Around {
				out[i].Around = append(out[i].Around, sessions.Line(l))
			}
		}
		return out, nil
	}
}
