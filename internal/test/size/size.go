// Program size counts lines of code, by area and by column; a line that is blank or only a comment is none. make size runs it.
// With -since COMMIT it prints as well what has changed since that commit: what an issue's budget is checked with.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	since := flag.String("since", "", "print the difference to this `commit` as well")
	flag.Parse()
	if err := run(os.Stdout, *since); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, since string) error {
	top, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	root := strings.TrimSpace(string(top))
	files, err := onDisk(root)
	if err != nil {
		return err
	}
	now := measure(files)
	if err := write(w, now, "%d"); err != nil || since == "" {
		return err
	}
	files, err = atCommit(root, since)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(w, "\nsince %s\n", since)
	return write(w, now.minus(measure(files)), difference)
}

// difference is the format of a table of changes, which leaves out the areas without one.
const difference = "%+d"

// write prints one row for each area, and their sum.
func write(w io.Writer, s sizes, format string) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(out, "area\t"+strings.Join(columns[:], "\t")+"\t")
	for _, area := range append(slices.Clone(areas), sum) {
		cells, row := []string{area}, s[area]
		if format == difference && row == [width]int{} {
			continue
		}
		for _, n := range row {
			cells = append(cells, fmt.Sprintf(format, n))
		}
		_, _ = fmt.Fprintln(out, strings.Join(cells, "\t")+"\t")
	}
	return out.Flush()
}
