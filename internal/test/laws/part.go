package laws

import "github.com/grapnel-go/grapnel/hook"

// Part is what an actor plays: every point. A test writes it, and another one each
// time, so that one composite serves many sets of hooks.
type Part interface {
	hook.Hook
	hook.OnOpen
	hook.OnSessionStart
	hook.BeforeTurn
	hook.TurnPolicy
	hook.TurnContext
	hook.RefineContext
	hook.TurnTools
	hook.PromptSections
	hook.BeforeStep
	hook.RewriteRequest
	hook.BeforeModel
	hook.WrapModel
	hook.OnModelError
	hook.RewriteReply
	hook.AfterModel
	hook.OnInvalidTool
	hook.RewriteArgs
	hook.BeforeTool
	hook.Approve
	hook.WrapTool
	hook.RewriteResult
	hook.AfterTool
	hook.AfterStep
	hook.OnStop
	hook.OnTurnError
	hook.AfterTurn
	hook.BeforeCompaction
	hook.AfterCompaction
	hook.OnSessionEnd
	hook.OnClose
}
