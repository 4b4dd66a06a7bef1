// Package tools knows where programs, their settings and their caches lie on a machine, and which of that may have secrets.
package tools

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"errors"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/paths"
	"io"
	"syscall"
)

// System are the directories of the system that every process sees, read-only. What else stands in the root directory it does not see.
func System() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/snap",
		"/var/lib/dpkg", "/var/lib/ca-certificates", "/var/cache/fontconfig", "/sys/devices/system", "/sys/kernel/mm/transparent_hugepage"}
}

// maxEntries bounds what is looked at in one directory of the system.
const maxEntries = 50_000

// Secrets returns what root could read of the system's settings, and other users could not.
func Secrets() (out []string) {
	for _, dir := range []string{"/etc", "/usr/local/etc", "/opt"} {
		n := 0
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if n++; n > maxEntries {
				return fs.SkipAll
			}
			if err != nil || d.Type()&fs.ModeSymlink != 0 {
				return nil //nolint:nilerr // what is gone has no secrets
			}
			need := fs.FileMode(0o004)
			if d.IsDir() {
				need = 0o005
			}
			info, err := d.Info()
			if err != nil || info.Mode()&need == need {
				return nil //nolint:nilerr // see above
			}
			out = append(out, path)
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
	}
	return out
}

// Devices are the devices that every process sees.
func Devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
}

// Kernel are the files of /proc that root could write to, or that tell of the machine's secrets.
func Kernel() (readOnly, hidden []string) {
	return []string{"/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi", "/proc/driver", "/proc/pressure"},
		[]string{"/proc/sysrq-trigger", "/proc/kcore", "/proc/kmsg", "/proc/keys", "/proc/key-users", "/proc/timer_list", "/proc/latency_stats",
			"/proc/sched_debug"}
}

// Home are paths in the home directory that have programs and their settings, and no secrets. They are read-only.
func Home() []string {
	return []string{
		"go/bin", "go/src", "sdk", ".config/go/env", ".local/bin", ".local/lib", ".local/share/uv/python", ".local/share/uv/tools", ".local/share/pnpm", ".local/share/mise",
		".rustup", ".cargo/bin", ".cargo/env", ".cargo/config.toml", ".nvm", ".fnm", ".volta", ".pyenv", ".rbenv", ".asdf", ".sdkman", ".deno", ".bun/bin",
		".npm-global/bin", ".npm-global/lib", ".yarn", ".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes", ".cache/ms-playwright",
		"bin", ".tool-versions", ".editorconfig", ".local/share/fonts", ".fonts", ".ghcup", ".elan", ".juliaup",
		".dotnet/dotnet", ".dotnet/host", ".dotnet/packs", ".dotnet/sdk", ".dotnet/shared", ".dotnet/tools", // not its certificates
	}
}

// maxSettings bounds a file of settings that is looked through.
const maxSettings = 1 << 20

// settings reads a file of settings if it is a regular one. A longer one than maxSettings is an error. It does not wait for a pipe.
func settings(path string) (data []byte, regular bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, true, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, false, err
	}
	data, err = io.ReadAll(io.LimitReader(f, maxSettings+1))
	if len(data) > maxSettings {
		err = errors.New("too long")
	}
	return data, true, err
}

// secretWord is what a setting with a secret is called.
var secretWord = regexp.MustCompile(`extraheader|token|secret|oauth|password|pass\w*\s*=`)

// Secretive reports whether a path is a file of settings that seems to have a secret in it, such as a password in an address. Such a file
// is not shown.
func Secretive(path string) bool {
	data, regular, err := settings(path)
	if !regular {
		return false
	}
	text := strings.ToLower(string(data))
	if err != nil || secretWord.MatchString(text) {
		return true
	}
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "://")
		if !found {
			return false
		}
		authority := after[:len(after)-len(strings.TrimLeft(after, "abcdefghijklmnopqrstuvwxyz0123456789-._~%!$&'()*+,;=:"))]
		if len(authority) < len(after) && after[len(authority)] == '@' && authority != "git" {
			return true
		}
		rest = after
	}
}

// Cache is a directory of files that a tool downloads or builds.
type Cache struct {
	// Name is the name of its layer, Variable the environment variable that moves it, and Dir its place in the home directory.
	Name, Variable, Dir string
	// Common: the layer is there also if the user has no such cache.
	Common bool
}

// Caches are the caches that get a writable layer.
func Caches() []Cache {
	return []Cache{
		{"go-build", "GOCACHE", ".cache/go-build", true},
		{"go-mod", "GOMODCACHE", "go/pkg/mod", true},
		{"go-sumdb", "", "go/pkg/sumdb", false},
		{"npm", "npm_config_cache", ".npm", true},
		{"yarn", "YARN_CACHE_FOLDER", ".cache/yarn", false},
		{"pip", "PIP_CACHE_DIR", ".cache/pip", true},
		{"uv", "UV_CACHE_DIR", ".cache/uv", false},
		{"cargo-registry", "", ".cargo/registry", true},
		{"cargo-git", "", ".cargo/git", false},
		{"gradle", "", ".gradle/caches", false},
		{"maven", "", ".m2/repository", false},
		{"ccache", "CCACHE_DIR", ".cache/ccache", false},
	}
}

// At returns the directory of a cache: absolute, "" if there is no telling.
func (c Cache) At(env map[string]string, home string) string {
	dir := ""
	if c.Variable != "" {
		dir = env[c.Variable]
	}
	if dir == "" && c.Name == "go-mod" {
		if gopath, _, _ := strings.Cut(env["GOPATH"], string(os.PathListSeparator)); gopath != "" {
			dir = filepath.Join(gopath, "pkg", "mod")
		}
	}
	if dir == "" && home != "" {
		dir = filepath.Join(home, filepath.FromSlash(c.Dir))
	}
	if !filepath.IsAbs(dir) { // also GOCACHE=off
		return ""
	}
	return filepath.Clean(dir)
}

// environment are the variables that processes inherit. None of them has a secret by its purpose.
func environment() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TERM", "TZ", "SHELL", "COLORTERM", "NO_COLOR", "CI",
		"GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN", "GOEXPERIMENT", "GOWORK", "GOPRIVATE", "GONOSUMDB", "GOMAXPROCS",
		"CGO_ENABLED", "CC", "CXX", "AR", "LD", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "MAKEFLAGS", "JOBS",
		"JAVA_HOME", "ANDROID_HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "PYTHONPATH",
		"NVM_DIR", "NVM_BIN", "VOLTA_HOME", "PNPM_HOME", "NODE_PATH", "NODE_ENV", "npm_config_cache", "YARN_CACHE_FOLDER", "PIP_CACHE_DIR",
		"UV_CACHE_DIR", "CCACHE_DIR", "DENO_DIR", "BUN_INSTALL", "DOTNET_ROOT", "GEM_HOME", "RBENV_ROOT", "ASDF_DIR",
	}
}

// Inherited returns the variables that a process inherits, as NAME=value.
func Inherited(environ []string) []string {
	names := environment()
	var out []string
	for _, kv := range environ {
		name, _, ok := strings.Cut(kv, "=")
		if ok && (slices.Contains(names, name) || strings.HasPrefix(name, "LC_")) {
			out = append(out, kv)
		}
	}
	return out
}

// GoFlags returns GOFLAGS with a flag by which a module's directories can be removed by their owner, as GOFLAGS=value. The variable replaces
// what go env -w has written, so the value of the one that counts follows. A file of settings that is not shown does not count.
func GoFlags(env map[string]string, home string) string {
	theirs := env["GOFLAGS"]
	if file := filepath.Join(home, ".config", "go", "env"); theirs == "" && home != "" && !Secretive(file) {
		data, _, _ := settings(file) // the go command does without it too
		for line := range strings.Lines(string(data)) {
			if value, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "GOFLAGS="); ok {
				theirs = value
			}
		}
	}
	return strings.TrimSpace("GOFLAGS=-modcacherw " + theirs)
}

func Variables(environ []string) map[string]string {
	out := map[string]string{}
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			out[name] = value
		}
	}
	return out
}

// beside are the directories and files beside the directory of a program that it may need. What else lies there may be its keys.
func beside() []string {
	return []string{"bin", "sbin", "shims", "lib", "lib32", "lib64", "libexec", "include", "share", "plugins", "conf", "jmods", "release", "pkg/tool", "pkg/include", "VERSION", "go.env", "pyvenv.cfg"}
}

// Programs returns the directories of PATH, and what beside them their programs need: a program in x/bin has its files in x/lib and the
// like. What would show more than one tool is cut down to the directory of PATH itself: all of the home directory, of a directory in the
// root, or what holds one of the paths in apart.
func Programs(path, home string, apart ...string) []string {
	var out []string
	holds := func(dir string) bool {
		return slices.ContainsFunc(apart, func(p string) bool { _, ok := paths.Below(dir, p); return ok })
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		dir = filepath.Clean(dir)
		if _, around := paths.Below(dir, home); around {
			continue
		}
		prefix := filepath.Dir(dir)
		_, around := paths.Below(prefix, home)
		alone := !slices.Contains([]string{"bin", "sbin", "shims"}, filepath.Base(dir))
		if alone || around || shared(prefix, home) || filepath.Dir(prefix) == "/" || holds(prefix) {
			prefix = dir
		}
		switch {
		case holds(prefix):
		case prefix == dir:
			out = append(out, dir)
		default:
			for _, name := range beside() {
				out = append(out, filepath.Join(prefix, filepath.FromSlash(name)))
			}
			if _, err := os.Stat(filepath.Join(prefix, "pkg", "tool")); err == nil {
				out = append(out, filepath.Join(prefix, "src")) // Go's own
			}
		}
	}
	return out
}

// shared reports whether a directory of the home directory has more in it than one tool.
func shared(dir, home string) bool {
	rel, ok := paths.Below(home, dir)
	return ok && slices.Contains([]string{".local", ".config", ".cache", ".cargo", "go", ".bun"}, rel)
}
