package differential

import "github.com/grapnel-go/grapnel/hook"

// Bounded has the policies of a field that act at run time: timeouts, patterns,
// and points that are left out.
//
//hook:ignore HG047
//hook:composite
type Bounded struct {
	Slow *Notes      `hook:"prefix=slow_; BeforeTool: timeout=1s; RewriteArgs: timeout=1s,failopen; AfterModel: timeout=1s; Preprocess: timeout=1s; OnBuildAgent: timeout=1s,failopen; OnEvent: timeout=1s; WrapTool: timeout=1s; WrapModel: timeout=1s; OnOpen: timeout=1s; OnClose: timeout=1s; AfterTurn: record,timeout=1s"`
	Some *Files      `hook:"optional,match=tool:read|hush,match=agent:ag*; BeforeTool: timeout=1s,failopen; Approve: timeout=1s"`
	Few  *Notes      `hook:"prefix=few_,only=BeforeTool|OnEvent|OnBuildAgent|WrapModel|SystemPrompt; BeforeTool: timeout=1s"`
	Not  *Files      `hook:"prefix=not_,without=Schema|Dispatch|AfterTool|RewriteRequest|WrapTool; AfterCompaction: background; OnSessionEnd: background"`
	Core *Core       `hook:"prefix=core_,match=tool:*e*,match=agent:other|agent; OnSessionEnd: record; AfterTurn: background; BeforeTool: timeout=1s; RewriteReply: timeout=1s"`
	Any  hook.Hook   `hook:"optional,match=agent:nobody"`
	Path hook.Hook   `hook:"optional,match=path:p; RewriteResult: timeout=1s; WrapTool: timeout=1s; BeforeModel: timeout=1s,failopen"`
	More []hook.Hook `hook:"match=tool:re*,match=sender:**,without=OnEvent; BeforeTool: timeout=1s; RewriteArgs: failopen; WrapTool: timeout=1s,failopen; WrapModel: timeout=1s; AfterTurn: timeout=1s,background; AfterCompaction: record"`
}
