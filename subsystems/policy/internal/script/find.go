package script

import (
	"slices"
	"strings"
)

// Search is what the arguments of find do with the files that it finds.
type Search struct {
	// Starts are the directories in which it begins; "." if it names none.
	Starts []string
	// Deletes: it deletes them, or runs a program that does.
	Deletes bool
	// Git: a test for names finds the directory .git. Narrow: a test lets it find certain names only, or leaves .git out.
	Git, Narrow bool
	// Read are the names of files that it gives to a program that reads them, with \x00 for *.
	Read []string
}

// deletes and reads are programs behind -exec.
const (
	deletes = " rm unlink rmdir mv shred srm truncate "
	reads   = " cat head tail less more grep egrep rg cp tac nl od xxd strings base64 sed awk "
)

// Find reads the arguments of find, as far as they say what is deleted or read. Each part between -o counts by itself, but what leaves
// .git out counts for all.
func Find(args []string) Search {
	s := Search{Starts: starts(args)}
	without := false
	var part []string
	for len(args) > 0 {
		end := slices.IndexFunc(args, func(a string) bool { return a == "-o" || a == "-or" || a == "," })
		part, args = args, nil
		if end >= 0 {
			part, args = part[:end], part[end+1:]
		}
		found, left := branch(part)
		s.Deletes, s.Git = s.Deletes || found.Deletes, s.Git || found.Deletes && found.Git
		s.Narrow = s.Narrow && (found.Narrow || !found.Deletes) || found.Deletes && found.Narrow
		s.Read = append(s.Read, found.Read...)
		without = without || left
	}
	s.Narrow = s.Narrow || without
	s.Git = s.Git && !without
	return s
}

// starts returns the operands in front of the first test.
func starts(args []string) []string {
	end := slices.IndexFunc(args, func(a string) bool {
		return a == "" || strings.IndexByte("-(!", a[0]) >= 0 && a != "-H" && a != "-L" && a != "-P"
	})
	if end < 0 {
		end = len(args)
	}
	out := slices.DeleteFunc(slices.Clone(args[:end]), func(a string) bool { return strings.HasPrefix(a, "-") })
	if len(out) == 0 {
		return []string{"."}
	}
	return out
}

// branch reads the arguments between two -o. without: it leaves .git out.
func branch(args []string) (s Search, without bool) {
	prunes, file, flat, runs := slices.Contains(args, "-prune"), false, false, ""
	var names []string
	for i, a := range args {
		value := ""
		if i+1 < len(args) {
			value = args[i+1]
		}
		switch a {
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex":
			not := i > 0 && (args[i-1] == "!" || args[i-1] == "-not")
			git := strings.Contains(value+"/", ".git/") || strings.Contains(value, ".git*")
			switch {
			case git && (not || prunes):
				without = true
			case git || value == ".*":
				s.Git = s.Git || !not
			case !not && strings.Trim(value, "*./") != "":
				s.Narrow = true
				names = append(names, strings.ReplaceAll(value, "*", "\x00"))
			}
		case "-type":
			file = value == "f"
		case "-maxdepth":
			flat = value == "1" || value == "0"
		case "-delete":
			s.Deletes = true
		case "-exec", "-execdir", "-ok", "-okdir":
			runs = " " + value[strings.LastIndexByte(value, '/')+1:] + " "
			s.Deletes = s.Deletes || strings.Contains(deletes, runs)
		}
	}
	if runs != "" && strings.Contains(reads, runs) {
		s.Read = names
	}
	s.Narrow = s.Narrow || file && flat
	return s, without
}
