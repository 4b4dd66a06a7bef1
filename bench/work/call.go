package work

import "context"

// Caller has one typed tool whose body is a Finder.
type Caller struct {
	// Call decodes the arguments of a call, calls the tool and encodes its answer. It
	// is called by one goroutine at a time.
	Call func(ctx context.Context, args string) (answer string, err error)
	// Close gives back what the caller took; nil if there is nothing.
	Close func() error
}

// Finder is the body of the tool.
type Finder = func(Input) (Answer, error)

// IsResult reports whether text is [Result]. Who encodes by way of a map has the keys
// in the order of the alphabet.
func IsResult(text string) bool {
	return text == Result || text == `{"found":25,"title":"Shopping list"}`
}
