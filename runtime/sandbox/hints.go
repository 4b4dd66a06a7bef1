package sandbox

import "strings"

// Hints says which limit of the sandbox a command has probably run into, and what to ask for, by what it printed. A command that
// succeeded gets none.
func (s *Sandbox) Hints(g Grant, code int, output string) []string {
	if code == 0 || g.Outside || !s.Enforces() {
		return nil
	}
	low := strings.ToLower(output)
	has := func(texts ...string) bool {
		for _, t := range texts {
			if strings.Contains(low, t) {
				return true
			}
		}
		return false
	}
	var out []string
	if has("could not resolve", "network is unreachable", "name or service not known", "temporary failure in name resolution", "enotfound",
		"eai_again", "no such host", "enetunreach", "connection refused", "dial tcp", "network unreachable") {
		out = append(out, `the sandbox has no network; for one host, call again with needs: ["connect HOST"]; only programs that use a proxy of HTTP_PROXY and HTTPS_PROXY can reach it`)
	}
	if has("read-only file system", "erofs") {
		out = append(out, `what is outside of the project is read-only, and so are .git/hooks, .git/config and settings of editors, shells and agents in it; for another path, call again with needs: ["write PATH"]`)
	}
	if has("address family not supported", "eafnosupport") {
		out = append(out, `unix sockets are refused; if they are needed, call again with needs: ["unix-sockets"]`)
	}
	if has(".git/config", "could not lock config file", "could not write config file") && has("device or resource busy", "read-only") {
		out = append(out, "the configuration of the repository cannot be changed from here; set it for one command with git -c")
	}
	if has("not a git repository") {
		out = append(out, `a repository whose own directory lies outside of the project is not there; call again with needs: ["write DIRECTORY"], the one that the file .git names`)
	}
	if has("no such file or directory", "permission denied", "eacces") && len(out) == 0 && mentions(output, s.home) {
		out = append(out, `of the home directory only tools and caches are there; to read something else, call again with needs: ["read PATH"]`)
	}
	return out
}

func mentions(output, home string) bool {
	return home != "" && (strings.Contains(output, home+"/") || strings.Contains(output, "~/"))
}
