package shell

import (
	"path"
	"strings"
)

// systemDirs are the directories that no rule lets anybody delete or change as a whole.
var systemDirs = []string{
	"/", "~", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/opt", "/proc", "/root", "/sbin", "/srv", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/var", "/var/lib",
	"/users", "/system", "/library", "/applications", "/private", "/volumes",
}

// wholeSystem reports whether a word is a system directory or the home directory, or all that is in it.
func (r *reader) wholeSystem(w word) bool {
	text := w.text
	if w.home {
		text = "~" + text[1:]
	}
	for _, all := range []string{"/" + string(Unknown), "/." + string(Unknown), "/" + string(Unknown) + string(Unknown)} {
		text = strings.TrimSuffix(text, all)
	}
	if text == "" {
		text = "/"
	}
	if strings.HasPrefix(text, "~") && !strings.Contains(text, "/") {
		return true // the home of somebody
	}
	if text[0] != '/' && text[0] != '~' {
		return false
	}
	clean := strings.ToLower(path.Clean(text))
	if r.Home != "" && path.Clean(text) == path.Clean(r.Home) || clean == "~/.." {
		return true
	}
	for _, dir := range systemDirs {
		if clean == dir {
			return true
		}
	}
	return false
}

// rawDevice reports whether a path is a disk, the memory of the machine or the kernel's switch.
func rawDevice(text string) bool {
	clean := strings.ToLower(path.Clean(text))
	if clean == "/proc/sysrq-trigger" || strings.HasPrefix(clean, "/proc/") && strings.HasSuffix(clean, "/mem") {
		return true
	}
	name, ok := strings.CutPrefix(clean, "/dev/")
	if !ok {
		return false
	}
	for _, disk := range []string{"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "md", "dm-", "mapper/", "loop", "mem", "kmem", "port", "nvram", "block/"} {
		if strings.HasPrefix(name, disk) {
			return true
		}
	}
	return false
}

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
		if len(args) > 0 && s.r.wholeSystem(args[0]) && hasPrefix(args, "-delete") && !hasPrefix(args, "-name") && !hasPrefix(args, "-path") {
			forbid("it deletes the system or the home directory")
		}
	case "wipefs", "blkdiscard", "fdisk", "sfdisk", "sgdisk", "parted", "mke2fs", "mkswap":
		if s.anyWord(args, func(w word) bool { return rawDevice(w.text) }) {
			forbid("it destroys what is on a disk")
		}
	case "dd", "tee", "cp", "truncate", "install", "split", "badblocks":
		if s.anyWord(args, func(w word) bool {
			text, named := strings.CutPrefix(w.text, "of=")
			return rawDevice(text) && (named || name != "dd") && (name != "cp" || w == args[len(args)-1])
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
