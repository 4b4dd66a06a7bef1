package shell

import (
	"path"
	"strings"
)

// place says what is known of a path.
type place int

const (
	inside    place = iota // below the project's root
	public                 // outside, and the same on every machine
	outside                // elsewhere
	above                  // a directory with more than the project below it
	sensitive              // its name says that it has secrets
	device                 // a device, or what the kernel shows as a file
	network                // another machine's
	private                // the program's own
)

// publicPaths are directories, with a slash behind them, and files that show nothing of a person.
var publicPaths = []string{
	"/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/etc/os-release", "/etc/hosts", "/etc/hostname", "/etc/debian_version", "/etc/issue", "/etc/timezone",
	"/etc/localtime", "/etc/shells", "/proc/cpuinfo", "/proc/meminfo", "/proc/version", "/proc/loadavg", "/proc/uptime", "/proc/filesystems", "/dev/null", "/dev/stdin",
}

// sensitiveNames are names of files and directories with secrets, in lower case. A name that begins or ends with * has anything there.
var sensitiveNames = []string{
	".env", ".env.*", ".envrc", ".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc", ".yarnrc*", ".pypirc",
	".git-credentials", ".gitconfig", ".htpasswd", ".vault-token", ".password-store", ".terraform.d", ".oci", ".boto", ".s3cfg", ".rclone.conf", "rclone.conf", ".databrickscfg", ".snowsql",
	".gcloud", "gcloud", ".mozilla", ".thunderbird", "keychains", "keyrings", "google-chrome", "chromium", "login data", "cookies", "logins.json", "key4.db", "cookies.sqlite",
	"*_history", ".*history", ".lesshst", ".viminfo", ".bashrc", ".zshrc", ".profile", ".bash_profile", ".zshenv", ".zprofile",
	"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.asc", "*.gpg", "*.ovpn",
	"credentials", "credentials.*", ".credentials*", "secrets.*", "secret.*", "master.key", "service-account*.json", "*.tfstate", "*.tfvars", "kubeconfig", "kubeconfig*", "wallet.dat", ".dockerconfigjson", "application_default_credentials.json",
	"shadow", "shadow-", "gshadow", "gshadow-", "sudoers", "sudoers.d", "sam", "ntds.dit", "ssh_host_*", "docker.sock", "*.sock",
}

// harmlessNames are exceptions.
var harmlessNames = []string{
	".env.example", ".env.sample", ".env.template", ".env.dist", "id_rsa.pub", "id_ed25519.pub", "id_ecdsa.pub",
	"*.go", "*.py", "*.ts", "*.tsx", "*.js", "*.rs", "*.java", "*.c", "*.h", "*.cc", "*.rb", "*.md", "*.rst", "*.html", "*.css",
}

// guardedNames are names in a project of what other programs run or load by themselves.
var guardedNames = []string{
	".git", ".gitmodules", ".gitattributes", ".gitconfig", ".husky", ".githooks", ".vscode", ".idea", ".claude", ".grapnel", ".agents", ".cursor", ".codex", ".gemini", ".mcp.json", ".envrc", ".direnv",
	".bashrc", ".zshrc", ".profile", ".bash_profile", ".zshenv", ".ripgreprc", ".npmrc", ".yarnrc*", ".pre-commit-config.yaml", ".devcontainer", ".zprofile", ".inputrc", ".vimrc", ".exrc", ".editorconfig-exec",
}

// place judges the path in a word, and says why if it is not inside.
func (r *reader) place(w word) (place, string) {
	text := strings.TrimPrefix(w.text, "file://")
	if w.home {
		text = "~" + text[1:]
	}
	low := strings.ToLower(strings.ReplaceAll(text, `\`, "/"))
	if strings.HasPrefix(low, "//") {
		return network, "it may be on another machine"
	}
	abs, rel, in := r.resolve(text)
	if r.isPrivate(abs) {
		return private, "it is the daemon's own"
	}
	name := low
	if in {
		name = strings.ToLower(rel)
	}
	if p, why := byName(name); p != inside && (p == sensitive || !in) {
		return p, why
	}
	if in {
		return inside, ""
	}
	if r.wholeSystem(w) || strings.HasPrefix(r.Root+"/", strings.TrimSuffix(abs, "/")+"/") || strings.HasPrefix(r.Home+"/", strings.TrimSuffix(abs, "/")+"/") {
		return above, "below it is more than the project"
	}
	if strings.HasPrefix(low, "~/.") || r.Home != "" && strings.HasPrefix(abs, r.Home+"/.") {
		return sensitive, "what lies there is not of the project"
	}
	return outside, "it is outside of the project"
}

// isPrivate reports whether a path is in a directory of the program itself, or may be by a glob.
func (r *reader) isPrivate(abs string) bool {
	for _, dir := range r.Private {
		rest, all := strings.TrimPrefix(abs, "/"), true
		for part := range strings.SplitSeq(strings.TrimPrefix(dir, "/"), "/") {
			var own string
			own, rest, _ = strings.Cut(rest, "/")
			first, last, glob := strings.Cut(own, string(Unknown))
			if own != part && !(glob && strings.HasPrefix(part, first) && strings.HasSuffix(part, last[strings.LastIndexByte(last, byte(Unknown))+1:])) {
				all = false
				break
			}
		}
		if all {
			return true
		}
	}
	return false
}

// private forbids what names a directory of the program itself, but not as a text that is printed or searched for.
func (s *inspection) private() {
	name, operands := canonical(s.words[0].base()), 0
	if len(s.r.Private) == 0 || name == "echo" || name == "printf" {
		return
	}
	for _, w := range s.words[1:] {
		if !strings.HasPrefix(w.text, "-") {
			operands++
		}
		if !strings.Contains(w.text, "/") || operands == 1 && oneOf(name, "grep egrep fgrep rg sed awk jq") {
			continue
		}
		for _, text := range pathsIn(w.text) {
			v := word{text: strings.TrimPrefix(text, "-"), home: w.home && text == w.text}
			if place, why := s.r.place(v); place == private {
				s.raise(Forbidden, why, w.text)
			}
		}
	}
}

// byName judges a path in lower case by its names alone.
func byName(name string) (place, string) {
	clean := path.Clean(name)
	for _, p := range publicPaths {
		if clean == strings.TrimSuffix(p, "/") || strings.HasSuffix(p, "/") && strings.HasPrefix(clean, p) {
			return public, "it is outside of the project"
		}
	}
	switch {
	case clean == "/dev/stdout" || clean == "/dev/stderr" || strings.HasPrefix(clean, "/dev/fd/"):
		return public, ""
	case strings.HasPrefix(clean, "/dev/") || strings.HasPrefix(clean, "/sys/"):
		return device, "it is a device"
	case strings.HasPrefix(clean, "/proc/"), clean == "/proc":
		return sensitive, "the kernel shows there what programs have in memory and in their environment"
	case clean == "/root" || strings.HasPrefix(clean, "/root/"), strings.HasPrefix(clean, "/run/secrets"), strings.HasPrefix(clean, "/var/run/secrets"):
		return sensitive, "what lies there is not of the project"
	case strings.HasPrefix(clean, "~") && clean != "~" && !strings.HasPrefix(clean, "~/"):
		return sensitive, "it is in the home of somebody"
	}
	for part := range strings.SplitSeq(clean, "/") {
		glob := strings.Contains(part, string(Unknown))
		if named(part, sensitiveNames) && (glob || !named(part, harmlessNames)) {
			return sensitive, "its name says that it has secrets"
		}
	}
	return inside, ""
}

// named reports whether a name is in a list, or may be one of its names by a glob.
func named(name string, list []string) bool {
	for _, one := range list {
		switch {
		case strings.IndexByte(name, byte(Unknown)) >= 0:
			if meets(name, one) {
				return true
			}
		case one == name:
			return true
		case strings.HasSuffix(one, "*") && strings.HasPrefix(name, one[:len(one)-1]) && one[0] != '*':
			return true
		case one[0] == '*' && strings.HasSuffix(name, one[1:]):
			return true
		case one == ".*history" && strings.HasPrefix(name, ".") && strings.HasSuffix(name, "history"):
			return true
		}
	}
	return false
}

// meets reports whether a glob is about a sensitive name: its own letters are a part of the name, at least two of them or a dot
// at the beginning.
func meets(glob, name string) bool {
	first, _, _ := strings.Cut(glob, string(Unknown))
	last := glob[strings.LastIndexByte(glob, byte(Unknown))+1:]
	if name[0] == '*' {
		return len(last) > 1 && strings.HasSuffix(name, last)
	}
	name = strings.TrimSuffix(name, "*")
	if strings.HasPrefix(first, ".") {
		return strings.HasPrefix(name, first)
	}
	return name[0] != '.' && len(first)+len(last) > 1 && strings.HasPrefix(name, first) && strings.HasSuffix(name, last) && !strings.HasPrefix(last, ".")
}

// resolve returns the absolute path of a text and, if that is below the root, the path from there.
func (r *reader) resolve(text string) (abs, rel string, in bool) {
	if text == "~" || strings.HasPrefix(text, "~/") {
		if r.Home == "" {
			return text, "", false
		}
		text = r.Home + text[1:]
	}
	if strings.HasPrefix(text, "~") {
		return text, "", false
	}
	if path.IsAbs(text) {
		abs = path.Clean(text)
	} else {
		if up := path.Clean(text); up == ".." || strings.HasPrefix(up, "../") || r.moved && strings.Contains(text, "..") {
			return path.Join(r.Root, up), "", false
		}
		abs = path.Join("/", r.Root, text)
	}
	root := path.Join("/", r.Root)
	switch {
	case !path.IsAbs(text) && r.Root == "":
		return abs, path.Clean(text), true
	case r.Root == "":
		return abs, "", false
	case abs == root:
		return abs, ".", true
	}
	rel, in = strings.CutPrefix(abs, root+"/")
	return abs, rel, in
}

// isRoot reports whether a word is the root of the project.
func (r *reader) isRoot(w word) bool {
	_, rel, in := r.resolve(w.text)
	return in && rel == "." && !r.moved
}

// guarded says why a path in the project is not written by a pattern; "" if nothing is special about it.
func (r *reader) guarded(w word) string {
	_, rel, in := r.resolve(w.text)
	switch {
	case !in:
		return "it is outside of the project"
	case rel == "." || strings.Trim(rel, string(Unknown)+"/.") == "":
		return "it is all of the project"
	}
	for part := range strings.SplitSeq(strings.ToLower(rel), "/") {
		if named(part, guardedNames) {
			return "other programs load or run what is there"
		}
	}
	return ""
}
