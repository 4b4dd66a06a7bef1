package provider

// Formatter is a [Provider] that knows which of its models have a response format of their own:
// they follow message.Model.Format. For all others JSON is asked for in another way, see
// subsystems/structured.
type Formatter interface {
	// HasFormat reports whether the model with this id has one. It is called before each
	// request that asks for JSON, from any goroutine, and does not block.
	HasFormat(model string) bool
}

// HasFormat reports whether a model of the provider has a response format of its own. A
// provider that is no Formatter has none.
func HasFormat(p Provider, model string) bool {
	f, ok := p.(Formatter)
	return ok && f.HasFormat(model)
}
