package shell

import (
	"strings"

	"github.com/grapnel-go/grapnel/subsystems/policy/internal/paths"
)

// destroys forbids what destroys the machine, the home directory or a disk. It needs no table: it is asked about every word that may
// begin a command.
func (s *inspection) destroys() {
	args := s.words[1:]
	name := strings.ToLower(s.words[0].base())
	forbid := func(why string) { s.raise(Forbidden, why, shortened(s.whole)) }
	switch name {
	case "rm":
		if recursive(args) && s.anyWord(args, s.r.wholeSystem) || hasPrefix(args, "--no-pres") {
			forbid("it deletes the system or the home directory")
		}
	case "chmod", "chown", "chgrp", "setfacl", "shred", "srm", "mv":
		if (recursive(args) || name == "mv") && len(args) > 0 && s.anyWord(args[:max(len(args)-1, 1)], s.r.wholeSystem) ||
			recursive(args) && s.anyWord(args, s.r.wholeSystem) {
			forbid("it changes the system or the home directory as a whole")
		}
	case "find":
		if len(args) > 0 && s.r.at().WholeSystem(args[0].path()) && hasPrefix(args, "-delete") && !hasPrefix(args, "-name") && !hasPrefix(args, "-path") {
			forbid("it deletes the system or the home directory")
		}
	case "wipefs", "blkdiscard", "fdisk", "sfdisk", "sgdisk", "parted", "mke2fs", "mkswap":
		if s.anyWord(args, func(w word) bool { return paths.RawDevice(w.text) }) {
			forbid("it destroys what is on a disk")
		}
	case "dd", "tee", "cp", "truncate", "install", "split", "badblocks":
		if s.anyWord(args, func(w word) bool {
			text, named := strings.CutPrefix(w.text, "of=")
			return paths.RawDevice(text) && (named || name != "dd") && (name != "cp" || w == args[len(args)-1])
		}) {
			forbid("it writes to a device")
		}
	}
	if strings.HasPrefix(name, "mkfs") && len(args) > 0 {
		forbid("it destroys what is on a disk")
	}
}

func (s *inspection) anyWord(args []word, is func(word) bool) bool {
	for _, w := range args {
		if is(w) {
			return true
		}
	}
	return false
}

// recursive reports whether a flag -r, -R or --recursive is there.
func recursive(args []word) bool {
	for _, w := range args {
		if strings.HasPrefix(w.text, "--r") || len(w.text) > 1 && w.text[0] == '-' && w.text[1] != '-' && strings.ContainsAny(w.text, "rR") {
			return true
		}
	}
	return false
}

func hasPrefix(args []word, prefix string) bool {
	for _, w := range args {
		if strings.HasPrefix(w.text, prefix) {
			return true
		}
	}
	return false
}
