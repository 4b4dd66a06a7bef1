package keys

import "fmt"

// hidden stands for a key wherever one would be printed.
const hidden = "[hidden]"

// Secret is a key. It prints as [hidden] with every verb, in JSON and in logs; only Reveal
// returns its text. The zero value is no key.
type Secret struct{ text string }

// Reveal returns the key.
func (s Secret) Reveal() string { return s.text }

// String returns [hidden], whatever the key is.
func (s Secret) String() string { return hidden }

// GoString is String: the %#v of a struct would show the key.
func (s Secret) GoString() string { return hidden }

// Format writes String for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// MarshalText implements encoding.TextMarshaler, for JSON, YAML and package slog.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
