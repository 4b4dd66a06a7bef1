// Package wires describes the wires of the module's adapters to the kit providertest, once
// for the tests of the adapters and for those about faults. It imports no adapter: who uses
// a description says how the adapter is opened.
//
// The answers are composed by hand from the vendors' documentation and the types of their
// SDKs; nothing here was recorded.
package wires

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest"
)

// Open opens the adapter of a wire.
type Open func(providertest.Server) provider.Provider

// object is an object of JSON.
type object = map[string]any

// encode returns the JSON of a value, without the escapes for HTML.
func encode(v any) string {
	var sb strings.Builder
	e := json.NewEncoder(&sb)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // values of this package always have JSON
	}
	return strings.TrimSpace(sb.String())
}

// data returns an event without a name.
func data(v any) string { return "data: " + encode(v) + "\n\n" }

// named returns an event with a name.
func named(name string, v any) string { return "event: " + name + "\n" + data(v) }

// failure returns a failure with the body of a response.
func failure(class message.FailureClass, status int, body any) providertest.Failure {
	return providertest.Failure{Class: class, Status: status, Body: encode(body)}
}

// waits is the pause that failures ask for.
const waits = 7 * time.Second
