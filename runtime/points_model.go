package runtime

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

func (p *points) answerFailure(ctx context.Context, t *turn, step *hook.Step, failure hook.ModelFailure) (d hook.FailureDecision, err error) {
	t.away(hook.PointOnModelError)
	defer t.caught(hook.PointOnModelError, &err)
	return p.onModelError.OnModelError(ctx, step, failure)
}

func (p *points) answerInvalid(ctx context.Context, t *turn, step *hook.Step, invalid hook.InvalidCall) (d hook.RepairDecision, err error) {
	t.away(hook.PointOnInvalidTool)
	defer t.caught(hook.PointOnInvalidTool, &err)
	return p.onInvalidTool.OnInvalidTool(ctx, step, invalid)
}

func (p *points) decideCompaction(ctx context.Context, t *turn, c *hook.Conversation, compaction hook.Compaction) (d hook.CompactionDecision, err error) {
	if p.beforeCompaction == nil {
		return d, nil
	}
	t.away(hook.PointBeforeCompaction)
	defer t.caught(hook.PointBeforeCompaction, &err)
	return p.beforeCompaction.BeforeCompaction(ctx, c, compaction)
}

func (p *points) compacted(ctx context.Context, t *turn, c *hook.Conversation, compacted hook.Compacted) (err error) {
	if p.afterCompaction == nil {
		return nil
	}
	t.away(hook.PointAfterCompaction)
	defer t.caught(hook.PointAfterCompaction, &err)
	p.afterCompaction.AfterCompaction(ctx, c, compacted)
	return nil
}
