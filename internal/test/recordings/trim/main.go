// Command trim cuts recordings out of the modules that publish them and writes them to the
// testdata of package recordings:
//
//	go run ./internal/test/recordings/trim
//
// It runs in the root of the module, reads the modules' zip files through the go command, and
// keeps what was put there from other sources. The same modules give the same files.
package main

import (
	"log"
)

func main() {
	log.SetFlags(0)
	if err := run("internal/test/recordings/testdata"); err != nil {
		log.Fatalf("trim: %v", err)
	}
}
