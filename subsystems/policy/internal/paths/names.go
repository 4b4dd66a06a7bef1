package paths

import (
	"path"
	"strings"
)

// publicPaths are directories, with a slash behind them, and files that show nothing of a person.
var publicPaths = []string{
	"/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/etc/os-release", "/etc/hosts", "/etc/hostname", "/etc/debian_version", "/etc/issue", "/etc/timezone",
	"/etc/localtime", "/etc/shells", "/proc/cpuinfo", "/proc/meminfo", "/proc/version", "/proc/loadavg", "/proc/uptime", "/proc/filesystems", "/dev/null", "/dev/stdin",
}

// sensitiveNames are names of files and directories with secrets, in lower case. A * is any text.
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

// systemDirs are the directories that no rule lets anybody delete or change as a whole.
var systemDirs = []string{
	"/", "~", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/opt", "/proc", "/root", "/sbin", "/srv", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/var", "/var/lib",
	"/users", "/system", "/library", "/applications", "/private", "/volumes",
}

// byName judges a path in lower case by its names alone.
func byName(name string) (Place, string) {
	clean := path.Clean(name)
	for _, p := range publicPaths {
		if clean == strings.TrimSuffix(p, "/") || strings.HasSuffix(p, "/") && strings.HasPrefix(clean, p) {
			return Public, "it is outside of the project"
		}
	}
	switch {
	case clean == "/dev/stdout" || clean == "/dev/stderr" || strings.HasPrefix(clean, "/dev/fd/"):
		return Public, ""
	case strings.HasPrefix(clean, "/dev/") || strings.HasPrefix(clean, "/sys/"):
		return Device, "it is a device"
	case strings.HasPrefix(clean, "/proc/"), clean == "/proc":
		return Sensitive, "the kernel shows there what programs have in memory and in their environment"
	case clean == "/root" || strings.HasPrefix(clean, "/root/"), strings.HasPrefix(clean, "/run/secrets"), strings.HasPrefix(clean, "/var/run/secrets"):
		return Sensitive, "what lies there is not of the project"
	case strings.HasPrefix(clean, "~") && clean != "~" && !strings.HasPrefix(clean, "~/"):
		return Sensitive, "it is in the home of somebody"
	}
	for part := range strings.SplitSeq(clean, "/") {
		glob := strings.Contains(part, string(Unknown))
		if named(part, sensitiveNames) && (glob || !named(part, harmlessNames)) {
			return Sensitive, "its name says that it has secrets"
		}
	}
	return Inside, ""
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
		default:
			first, last, glob := strings.Cut(one, "*")
			if glob && len(name) >= len(first)+len(last) && strings.HasPrefix(name, first) && strings.HasSuffix(name, last) {
				return true
			}
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

// mayBeGit reports whether a part of a path is .git, or may be by a glob. No glob without a dot in front finds it.
func mayBeGit(part string) bool {
	const name = ".git"
	at := strings.IndexAny(part, "*?["+string(Unknown))
	if at < 0 {
		return part == name
	}
	end := part[strings.LastIndexAny(part, "*?]"+string(Unknown))+1:]
	return at > 0 && strings.HasPrefix(name, part[:at]) && strings.HasSuffix(name, end)
}

// RawDevice reports whether a path is a disk, the memory of the machine or the kernel's switch.
func RawDevice(text string) bool {
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

// SecretVariable reports whether a variable's name says that it has a secret.
func SecretVariable(name string) bool {
	name = strings.ToUpper(name)
	for _, part := range []string{"KEY", "TOKEN", "SECRET", "PASS", "CRED", "AUTH", "PRIVATE", "COOKIE", "SESSION", "PWD_", "DSN", "DATABASE_URL"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
