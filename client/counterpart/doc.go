// Package counterpart has only tests: they generate a client of docs/openapi.yaml with ogen, and let it talk to a daemon. It is a module of
// its own, so that Grapnel does not depend on ogen. Run it with `make counterpart`.
package counterpart

import ( // what the generated client imports
	_ "github.com/go-faster/errors"
	_ "github.com/go-faster/jx"
	_ "github.com/ogen-go/ogen/conv"
	_ "github.com/ogen-go/ogen/json"
	_ "github.com/ogen-go/ogen/ogenerrors"
	_ "github.com/ogen-go/ogen/ogenregex"
	_ "github.com/ogen-go/ogen/uri"
	_ "github.com/ogen-go/ogen/validate"
)
