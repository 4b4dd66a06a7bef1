// Package counterpart holds tests alone: OpenAI's own SDK for Go, which was not
// written here, over the same wire as package openai. It is a module of its own,
// so that nobody who uses Grapnel gets the SDK with it. Run it with `make
// counterpart`.
package counterpart
