package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/grapnel-go/grapnel/runtime/sandbox"
)

// A command may change the project, and reach one host.
func Example() {
	state, err := os.UserCacheDir()
	if err != nil {
		return
	}
	s, err := sandbox.New(sandbox.Options{Project: ".", State: filepath.Join(state, "mine", "sandbox")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	if ok, why := s.Confines(); !ok {
		fmt.Println("ask somebody first:", why)
		return
	}
	p, err := s.Start(sandbox.Command{Path: "/bin/sh", Args: []string{"sh", "-c", "make test"}, Stdout: os.Stdout}, sandbox.Grant{Hosts: []string{"proxy.golang.org"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	<-p.Done()
	fmt.Println(p.Status())
	for _, line := range p.End().Lines(nil) {
		fmt.Println(line)
	}
}
