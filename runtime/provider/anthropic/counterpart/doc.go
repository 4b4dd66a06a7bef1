// Package counterpart has only tests: they run Anthropic's own SDK for Go against the same
// server as package anthropic. It is a module of its own, so that Grapnel does not depend on
// the SDK. Run it with `make counterpart`.
package counterpart
