package composite

// Stale is the result of the methods of [NotCalled].
type Stale struct{}

// NotCalled is how generated code notices that it is behind: embedded beside a
// member in a type that is never used, it has the method of every point, so the
// selector of a point that the member does not have is the marker's. Once the
// member gains the method, the selector is ambiguous or of another type, and the
// generated file does not compile until it is generated again. Nothing of it is
// there at run time, and nobody else needs it.
//
// The methods of hook.Hook lie as deep as those of the member itself, one level
// above the ones that it has from hook.Nop; those of the points beside it lie
// four levels deeper, below all that a member usually embeds. What a member
// embeds further down is not seen, nor is what an interface or a group holds.
type NotCalled struct{ below4 }

// NotCalled2 is [NotCalled] for members that have hook.Nop from what they embed.
type NotCalled2 struct{ NotCalled }

// NotCalled3 is [NotCalled] for members that have it from still further down.
type NotCalled3 struct{ NotCalled2 }

type (
	below4 struct{ below3 }
	below3 struct{ below2 }
	below2 struct{ below1 }
	below1 struct{}
)

// Schema marks the point of this name.
func (NotCalled) Schema() Stale { return Stale{} }

// SystemPrompt marks the point of this name.
func (NotCalled) SystemPrompt() Stale { return Stale{} }

// OnBuildAgent marks the point of this name.
func (NotCalled) OnBuildAgent() Stale { return Stale{} }

// OnRegisterAgent marks the point of this name.
func (NotCalled) OnRegisterAgent() Stale { return Stale{} }

// OnUnregisterAgent marks the point of this name.
func (NotCalled) OnUnregisterAgent() Stale { return Stale{} }

// Preprocess marks the point of this name.
func (NotCalled) Preprocess() Stale { return Stale{} }

// ScopedTools marks the point of this name.
func (NotCalled) ScopedTools() Stale { return Stale{} }

// Dispatch marks the point of this name.
func (NotCalled) Dispatch() Stale { return Stale{} }

// OnEvent marks the point of this name.
func (NotCalled) OnEvent() Stale { return Stale{} }

func (below1) OnOpen() Stale           { return Stale{} }
func (below1) OnSessionStart() Stale   { return Stale{} }
func (below1) BeforeTurn() Stale       { return Stale{} }
func (below1) TurnPolicy() Stale       { return Stale{} }
func (below1) TurnContext() Stale      { return Stale{} }
func (below1) RefineContext() Stale    { return Stale{} }
func (below1) TurnTools() Stale        { return Stale{} }
func (below1) PromptSections() Stale   { return Stale{} }
func (below1) BeforeStep() Stale       { return Stale{} }
func (below1) RewriteRequest() Stale   { return Stale{} }
func (below1) BeforeModel() Stale      { return Stale{} }
func (below1) WrapModel() Stale        { return Stale{} }
func (below1) OnModelError() Stale     { return Stale{} }
func (below1) RewriteReply() Stale     { return Stale{} }
func (below1) AfterModel() Stale       { return Stale{} }
func (below1) OnInvalidTool() Stale    { return Stale{} }
func (below1) RewriteArgs() Stale      { return Stale{} }
func (below1) BeforeTool() Stale       { return Stale{} }
func (below1) Approve() Stale          { return Stale{} }
func (below1) WrapTool() Stale         { return Stale{} }
func (below1) RewriteResult() Stale    { return Stale{} }
func (below1) AfterTool() Stale        { return Stale{} }
func (below1) AfterStep() Stale        { return Stale{} }
func (below1) OnStop() Stale           { return Stale{} }
func (below1) OnTurnError() Stale      { return Stale{} }
func (below1) AfterTurn() Stale        { return Stale{} }
func (below1) BeforeCompaction() Stale { return Stale{} }
func (below1) AfterCompaction() Stale  { return Stale{} }
func (below1) OnSessionEnd() Stale     { return Stale{} }
func (below1) OnClose() Stale          { return Stale{} }
