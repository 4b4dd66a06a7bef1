package runtime

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

func (p *points) answerFailure(ctx context.Context, step *hook.Step, failure hook.ModelFailure) (d hook.FailureDecision, err error) {
	defer caught(hook.PointOnModelError, &err)
	return p.onModelError.OnModelError(ctx, step, failure)
}

func (p *points) answerInvalid(ctx context.Context, step *hook.Step, invalid hook.InvalidCall) (d hook.RepairDecision, err error) {
	defer caught(hook.PointOnInvalidTool, &err)
	return p.onInvalidTool.OnInvalidTool(ctx, step, invalid)
}

func (p *points) decideCompaction(ctx context.Context, c *hook.Conversation, compaction hook.Compaction) (d hook.CompactionDecision, err error) {
	if p.beforeCompaction == nil {
		return d, nil
	}
	defer caught(hook.PointBeforeCompaction, &err)
	return p.beforeCompaction.BeforeCompaction(ctx, c, compaction)
}

func (p *points) compacted(ctx context.Context, c *hook.Conversation, compacted hook.Compacted) (err error) {
	if p.afterCompaction == nil {
		return nil
	}
	defer caught(hook.PointAfterCompaction, &err)
	p.afterCompaction.AfterCompaction(ctx, c, compacted)
	return nil
}
