package provider

// Windowed is a [Provider] that knows the context windows of its models.
type Windowed interface {
	// ContextWindow returns how many tokens a request to the model with this id and its
	// answer may have together; 0 is unknown. It is called when an agent is registered that
	// has no window of its own, and does not block.
	ContextWindow(model string) int
}

// ContextWindow returns the window of a model of the provider, in tokens; 0 is unknown.
func ContextWindow(p Provider, model string) int {
	if w, ok := p.(Windowed); ok {
		return w.ContextWindow(model)
	}
	return 0
}
