package daemon

import (
	"context"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/retention"
)

// deleting answers POST /v1/deletions.
func deleting(k *retention.Keeper) func(context.Context, wire.Deletion) (wire.Deleted, error) {
	return func(ctx context.Context, d wire.Deletion) (wire.Deleted, error) {
		subject := retention.Subject{Kind: retention.Conversation, Name: d.Conversation}
		switch {
		case d.Sender != "":
			subject = retention.Subject{Kind: retention.Sender, Name: d.Sender}
		case d.Project == wire.ProjectBefore:
			subject = retention.Subject{Kind: retention.Project}
		case d.Project != "":
			subject = retention.Subject{Kind: retention.Project, Name: d.Project}
		}
		r, err := k.Delete(ctx, subject, d.DryRun)
		if err != nil {
			return wire.Deleted{}, err
		}
		out := wire.Deleted{DryRun: r.DryRun, Conversations: append([]string{}, r.Conversations...), Places: []wire.DeletedPlace{}, Freed: r.Freed}
		for _, p := range r.Parts {
			out.Places = append(out.Places, wire.DeletedPlace(p))
		}
		return out, nil
	}
}
