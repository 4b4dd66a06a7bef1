// Command hookvet reports hooks that hookgen would refuse and hooks that are misused: the analyzer of gen/vet as a program.
//
//	go vet -vettool=$(go tool -n hookvet) ./...   beside the other checks of go vet, cached like them
//	hookvet [-fix] [-json] [packages]             by itself; see hookvet help
//
// go vet looks at packages that compile and says nothing about others; before the first generation use "hookgen vet", which needs
// no package to compile and shows problems with notes and source lines. docs/hookvet.md says how to switch it on in an editor.
// Exit status: 0 if all is well, else as go vet's and singlechecker's: 1 a failure, 3 problems.
package main

import (
	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/grapnel-go/grapnel/gen/vet"
)

func main() { multichecker.Main(vet.New()) }
