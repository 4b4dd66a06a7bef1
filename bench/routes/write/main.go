// Command write makes the packages of the scenario Route: ../tools8, ../tools64 and
// ../tools512, or those of the numbers that it is given. It runs in their parent.
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"strconv"
	"text/template"
)

// owners is how many subsystems share the tools of a package.
const owners = 6

func main() {
	sizes := os.Args[1:]
	if len(sizes) == 0 {
		sizes = []string{"8", "64", "512"}
	}
	for _, size := range sizes {
		if err := write(size); err != nil {
			fmt.Fprintln(os.Stderr, "write:", err)
			os.Exit(1)
		}
	}
}

// write makes the package of one size.
func write(size string) error {
	n, err := strconv.Atoi(size)
	if err != nil || n < owners {
		return fmt.Errorf("%q is no number of tools that %d owners can share", size, owners)
	}
	p := newPackage(n)
	dir := "tools" + size
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"tools.go": toolsText, "route.go": routeText} {
		var out bytes.Buffer
		if err := template.Must(template.New(name).Parse(text)).Execute(&out, p); err != nil {
			return err
		}
		source, err := format.Source(out.Bytes())
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), source, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pack is what the templates print.
type pack struct {
	Size   int
	Owners []owner
	// Middle is the tool in the middle of its owner's, of the owner in the middle.
	Middle tool
}

type owner struct {
	Name  string
	Tools []tool
}

// tool is one of an owner's: Name is what a model calls, Go the method, Bind the
// function with which hookgen binds it.
type tool struct {
	Owner          int
	Name, Go, Bind string
}

// newPackage deals n tools out to the owners, in turn.
func newPackage(n int) pack {
	p := pack{Size: n, Owners: make([]owner, owners)}
	for i := range n {
		of, k := i%owners, i/owners
		o := &p.Owners[of]
		o.Name = fmt.Sprintf("S%d", of)
		o.Tools = append(o.Tools, tool{of, fmt.Sprintf("owner%d_tool_%d", of, k), fmt.Sprintf("T%d", k), fmt.Sprintf("bindOwner%dTool%d", of, k)})
	}
	middle := p.Owners[owners/2].Tools
	p.Middle = middle[len(middle)/2]
	return p
}
