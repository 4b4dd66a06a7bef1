// Package counterpart has only tests: they run Google's own SDK for Go against the same
// server as package gemini. It is a module of its own, so that Grapnel does not depend on
// the SDK. Run it with `make counterpart`.
package counterpart
