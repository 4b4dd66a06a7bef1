package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/models"
	"github.com/grapnel-go/grapnel/internal/pgdb"
)

// container is what a file of deploy starts the program in. The checks find everything in it that
// the program does not know.
type container struct {
	args []string
	env  map[string]string
	// places are the directories and files that it has.
	places []string
	// ports are those that others reach.
	ports []int
	// grace is how long it has to end.
	grace  time.Duration
	probes []containerProbe
	user   string
}

// containerProbe asks the program whether it is well: over the socket, or over a port.
type containerProbe struct {
	path, socket, host string
	port               int
}

// problems lists what is wrong; it is sorted.
type problems []string

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// deployChecks has what the program knows.
type deployChecks struct {
	image recipe
	probe map[string]bool // paths that need no token
	reads func(name string) bool
}

func newDeployChecks(t *testing.T) deployChecks {
	t.Helper()
	image, found := readRecipe(source(t, "deploy/Containerfile"))
	require.Empty(t, found)
	c := deployChecks{image: image, probe: map[string]bool{}, reads: variables(t)}
	for _, r := range new(api.Server).Routes() {
		if r.Method == "GET" && r.Need == "public" {
			c.probe[r.Path] = true
		}
	}
	require.True(t, c.probe["/healthz"] && c.probe["/readyz"])
	return c
}

// variables reports which variables the program reads.
func variables(t *testing.T) func(name string) bool {
	t.Helper()
	read := map[string]bool{}
	getenv := func(name string) string {
		read[name] = true
		return ""
	}
	_, err := app.FindPaths(t.TempDir(), func(name string) string {
		getenv(name)
		return map[string]string{"HOME": filepath.Join(t.TempDir(), "home")}[name]
	})
	require.NoError(t, err)
	known := models.New(models.Options{Getenv: getenv})
	defer known.Close()
	for _, vendor := range models.Names() {
		known.Configured(vendor)
	}
	cmd, _, err := new(command).root().Find([]string{"serve"})
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`\$([A-Z_]+)`).FindAllStringSubmatch(cmd.Flags().FlagUsages(), -1) {
		read[m[1]] = true
	}
	require.True(t, read["GRAPNEL_HOME"] && read["OPENAI_API_KEY_FILE"] && read["PGPASSFILE"], "%v", read)
	return func(name string) bool { return read[name] }
}

// check lists what the program does not know or cannot do in the container.
func (c deployChecks) check(ct container) (found problems) {
	flags := c.flags(ct.args, &found)
	if flags == nil {
		return found
	}
	value := func(name string) string { return flags.Lookup(name).Value.String() }
	c.checkPlaces(ct, flags, &found)
	c.checkVariables(ct, &found)
	c.checkStore(ct, flags, &found)
	listens := []int{}
	for _, name := range []string{"listen", "node-listen"} {
		if at := value(name); at != "" {
			listens = append(listens, port(at, &found))
		}
	}
	for _, p := range ct.ports {
		if !slices.Contains(listens, p) {
			found.add("others are to reach port %d, and the program listens on %v", p, listens)
		}
	}
	grace, err := time.ParseDuration(value("grace"))
	if ct.grace > 0 && (err != nil || ct.grace < grace+api.LongestEnd) {
		found.add("the container is killed after %v; the program may need %v: %v of --grace and %v", ct.grace, grace+api.LongestEnd, grace, api.LongestEnd)
	}
	for _, p := range ct.probes {
		c.checkProbe(p, listens, flags, &found)
	}
	if ct.user != "" && ct.user != c.image.user {
		found.add("the user is %s, and the image is made for %s", ct.user, c.image.user)
	}
	return found
}

// flags returns the flags of serve with the values that the arguments give; nil if they are wrong.
func (c deployChecks) flags(args []string, found *problems) *pflag.FlagSet {
	cmd, rest, err := newCommand(os.Stdin, os.Stdout, os.Stderr, os.Getenv).root().Find(args)
	if err != nil || cmd.Name() != "serve" {
		found.add("the program is not told to serve: %v", args)
		return nil
	}
	if err := errors.Join(cmd.ParseFlags(rest), cmd.ValidateFlagGroups()); err != nil {
		found.add("%v", err)
		return nil
	}
	if left := cmd.Flags().Args(); len(left) > 0 {
		found.add("serve takes no argument %v", left)
	}
	return cmd.Flags()
}

// checkPlaces finds flags whose files the container does not have.
func (c deployChecks) checkPlaces(ct container, flags *pflag.FlagSet, found *problems) {
	flags.Visit(func(f *pflag.Flag) {
		if v := f.Value.String(); strings.HasPrefix(v, "/") && !c.has(ct, v) {
			found.add("--%s is %s, which the container does not have", f.Name, v)
		}
	})
	for _, name := range []string{"dir", "socket"} {
		if !flags.Changed(name) {
			found.add("--%s is not given", name)
		}
	}
}

// checkStore finds a database that the program does not take, and an address of the node that it does not listen on.
func (c deployChecks) checkStore(ct container, flags *pflag.FlagSet, found *problems) {
	dsn := flags.Lookup("store").Value.String()
	if dsn == "" {
		return
	}
	u, err := url.Parse(dsn)
	if err != nil || pgdb.HasPassword(dsn) {
		found.add("--store is no URL, or has a password: %v", err)
		return
	}
	q := u.Query()
	for _, file := range []string{q.Get("host"), q.Get("sslrootcert")} {
		if file != "" && !c.has(ct, file) {
			found.add("--store names %s, which the container does not have", file)
		}
	}
	q.Del("sslrootcert") // it is not there while the test runs
	u.RawQuery = q.Encode()
	if err := pgdb.CheckDSN(u.String()); err != nil {
		found.add("--store: %v", err)
	}
	at, err := url.Parse(strings.ReplaceAll(flags.Lookup("node-url").Value.String(), "$(POD_NAME)", "pod"))
	if listen := flags.Lookup("node-listen").Value.String(); listen != "" && (err != nil || at.Port() != strconv.Itoa(port(listen, found))) {
		found.add("--node-url is %v, and --node-listen %s: %v", at, listen, err)
	}
}

// checkVariables finds variables that neither the program nor an argument reads, and files that are
// not there.
func (c deployChecks) checkVariables(ct container, found *problems) {
	for name, text := range ct.env {
		if !c.reads(name) && !slices.ContainsFunc(ct.args, func(a string) bool { return strings.Contains(a, "$("+name+")") }) {
			found.add("the program does not read the variable %s", name)
		}
		if strings.HasPrefix(text, "/") && !c.has(ct, text) {
			found.add("%s is %s, which the container does not have", name, text)
		}
	}
}

// has reports whether the container or the image has the file or a directory above it.
func (c deployChecks) has(ct container, file string) bool {
	return slices.ContainsFunc(slices.Concat(ct.places, c.image.places), func(place string) bool {
		return file == place || strings.HasPrefix(file, strings.TrimSuffix(place, "/")+"/")
	})
}

func (c deployChecks) checkProbe(p containerProbe, listens []int, flags *pflag.FlagSet, found *problems) {
	if !c.probe[p.path] {
		found.add("a probe asks for %s; the program answers %v without a token", p.path, slices.Sorted(maps.Keys(c.probe)))
	}
	if p.socket != "" {
		if at := flags.Lookup("socket").Value.String(); p.socket != at {
			found.add("a probe asks the socket %s; the program's is %s", p.socket, at)
		}
		return
	}
	if !slices.Contains(listens, p.port) {
		found.add("a probe asks port %d; the program listens on %v", p.port, listens)
	}
	if hosts, err := flags.GetStringSlice("host"); err != nil || !slices.Contains(hosts, p.host) {
		found.add("a probe has the Host %q; the program takes --host %v", p.host, hosts)
	}
}

func port(address string, found *problems) int {
	_, text, err := net.SplitHostPort(address)
	n, bad := strconv.Atoi(text)
	if err = errors.Join(err, bad); err != nil {
		found.add("%s is no address with a port", address)
	}
	return n
}

func TestDeployKnowsTheProgram(t *testing.T) {
	t.Parallel()
	c := newDeployChecks(t)
	assert.Empty(t, c.check(c.image.run), "Containerfile")
	assert.Empty(t, c.checkCompose(source(t, "deploy/compose.yaml")), "compose.yaml")
	assert.Empty(t, c.checkKubernetes(source(t, "deploy/kubernetes.yaml")), "kubernetes.yaml")
	assert.Contains(t, source(t, "go.mod"), "\ngo "+regexp.MustCompile(`FROM golang:(\S+)`).FindStringSubmatch(source(t, "deploy/Containerfile"))[1])
}

// TestDeployChecksFindWhatIsWrong: each mistake is found, by its own words.
func TestDeployChecksFindWhatIsWrong(t *testing.T) {
	t.Parallel()
	c := newDeployChecks(t)
	kinds := map[string]func(string) problems{
		"compose.yaml": c.checkCompose, "kubernetes.yaml": c.checkKubernetes,
		"Containerfile": func(text string) problems {
			r, found := readRecipe(text)
			bad := deployChecks{image: r, probe: c.probe, reads: c.reads}
			return append(found, bad.check(r.run)...)
		},
	}
	for _, m := range []struct{ file, name, old, wrong, want string }{
		{"compose.yaml", "a flag that does not exist", "--grace, 30s", "--grce, 30s", "unknown flag: --grce"},
		{"compose.yaml", "a flag whose value is wrong", "--grace, 30s", "--grace, long", "invalid argument"},
		{"compose.yaml", "a port that nobody listens on", `127.0.0.1:7772:7772`, `127.0.0.1:7772:7782`, "reach port 7782"},
		{"compose.yaml", "a probe with a typo", "localhost/readyz", "localhost/readyx", "asks for /readyx"},
		{"compose.yaml", "a probe at another socket", "--unix-socket, /run/grapnel/a", "--unix-socket, /run/grapnel/b", "asks the socket /run/grapnel/b.sock"},
		{"compose.yaml", "a variable with a typo", "ANTHROPIC_API_KEY_FILE", "ANTHROPIC_APIKEY_FILE", "does not read the variable ANTHROPIC_APIKEY_FILE"},
		{"compose.yaml", "a secret that is not mounted", "secrets: [anthropic, pgpass, tls-cert, tls-key]", "secrets: [anthropic, pgpass, tls-cert]", "--tls-key is /run/secrets/tls-key, which"},
		{"compose.yaml", "a project that is not mounted", "--dir, /project", "--dir, /projects", "--dir is /projects"},
		{"compose.yaml", "a key that compose does not have", "stop_grace_period: 80s", "stop_grace: 80s", "field stop_grace not found"},
		{"compose.yaml", "a kill before the drain has ended", "stop_grace_period: 80s", "stop_grace_period: 70s", "killed after 1m10s"},
		{"compose.yaml", "a volume that is not there", "state-b: {}", "state-x: {}", "no volume state-b"},
		{"compose.yaml", "a sandbox without its namespaces", "seccomp=unconfined, ", "", "needs security_opt seccomp=unconfined"},
		{"compose.yaml", "a recipe that is not there", "deploy/Containerfile}", "deploy/Dockerfile}", "no such file"},
		{"compose.yaml", "root", `user: "10001:10001"`, `user: "0:0"`, "the user is 0:0"},
		{"compose.yaml", "a database whose socket is elsewhere", "host=/var/run/postgresql", "host=/run/postgresql", "--store names /run/postgresql, which"},
		{"compose.yaml", "a database of another user", "postgres://grapnel@/", "postgres://grapnl@/", "the database is grapnl's"},
		{"compose.yaml", "a password for all to see", "postgres://grapnel@/", "postgres://grapnel:secret@/", "has a password"},
		{"compose.yaml", "two daemons with one socket", "/run/grapnel/c.sock", "/run/grapnel/b.sock", "/run/grapnel/b.sock is that of b too"},
		{"kubernetes.yaml", "a database that may be anybody", "sslmode=verify-full", "sslmode=require", "--store: the connection is not verified"},
		{"kubernetes.yaml", "an authority that is elsewhere", "sslrootcert=/secrets", "sslrootcert=/secret", "--store names /secret/store-ca.crt"},
		{"kubernetes.yaml", "a node that is elsewhere", "grapnel-nodes:7780", "grapnel-nodes:7781", "and --node-listen 0.0.0.0:7780"},
		{"kubernetes.yaml", "a node that has no name", "$(POD_NAME).grapnel-nodes:", "$(POD_NAME).grapnel:", "no name of a pod"},
		{"kubernetes.yaml", "a node without its key", "--node-key, /secrets/node.key, ", "", "node-key"},
		{"kubernetes.yaml", "a variable that nobody reads", "$(POD_NAME)", "$(POD)", "does not read the variable POD_NAME"},
		{"kubernetes.yaml", "a flag that does not exist", "--log-format", "--log-fromat", "unknown flag: --log-fromat"},
		{"kubernetes.yaml", "a probe with a typo", "path: /readyz", "path: /ready", "asks for /ready;"},
		{"kubernetes.yaml", "a probe that restarts what waits", "livenessProbe:\n            httpGet: {path: /healthz", "livenessProbe:\n            httpGet: {path: /readyz", "would restart every daemon"},
		{"kubernetes.yaml", "a probe with a Host that is refused", "--host, probe", "--host, prob.e", `has the Host "probe"`},
		{"kubernetes.yaml", "a port that nobody listens on", "containerPort: 7777", "containerPort: 7770", "reach port 7770"},
		{"kubernetes.yaml", "a listener at another port", "0.0.0.0:7777", "0.0.0.0:7770", "asks port 7777"},
		{"kubernetes.yaml", "a Service that goes nowhere", "targetPort: clients", "targetPort: client", "goes to port client"},
		{"kubernetes.yaml", "a kill before the drain has ended", "terminationGracePeriodSeconds: 80", "terminationGracePeriodSeconds: 60", "killed after 1m0s"},
		{"kubernetes.yaml", "a budget for other pods", "matchLabels: {app: grapnel}}\n---", "matchLabels: {app: grapnels}}\n---", "selects map[app:grapnels]"},
		{"kubernetes.yaml", "nodes from anywhere", "{ports: [{port: nodes}], from: [{podSelector: {matchLabels: {app: grapnel}}}]}", "{ports: [{port: nodes}]}", "opens map[clients:true nodes:true]"},
		{"kubernetes.yaml", "nodes that are other pods", "from: [{podSelector: {matchLabels: {app: grapnel}}}]", "from: [{podSelector: {matchLabels: {app: other}}}]", "opens map[clients:true nodes:true]"},
		{"kubernetes.yaml", "a policy for other pods", "podSelector: {matchLabels: {app: grapnel}}\n", "podSelector: {matchLabels: {app: grapnels}}\n", "NetworkPolicy grapnel selects"},
		{"kubernetes.yaml", "no policy", "kind: NetworkPolicy", "kind: NetworkPolicies", "there is no NetworkPolicy"},
		{"kubernetes.yaml", "pods that are spread among others", "labelSelector: {matchLabels: {app: grapnel}}", "labelSelector: {matchLabels: {app: other}}", "are spread among map[app:other]"},
		{"kubernetes.yaml", "names of pods that nobody has", "serviceName: grapnel-nodes", "serviceName: grapnel-node", "no Service grapnel-node "},
		{"kubernetes.yaml", "a volume that is not there", "- {name: project, mountPath", "- {name: projects, mountPath", "mounts projects"},
		{"kubernetes.yaml", "a secret that is elsewhere", "/secrets/tls.key", "/secret/tls.key", "--tls-key is /secret/tls.key"},
		{"kubernetes.yaml", "a secret for others to read", "0o440", "0o444", "others can read the secret"},
		{"kubernetes.yaml", "a key that Kubernetes does not have", "runAsNonRoot: true", "runAsNoRoot: true", "field runAsNoRoot not found"},
		{"kubernetes.yaml", "a sandbox without its /proc", "procMount: Unmasked\n", "procMount: Default\n", "its /proc"},
		{"Containerfile", "root", "USER 10001:10001", "USER root", `runs as "root"`},
		{"Containerfile", "a shell in between", `ENTRYPOINT ["/usr/local/bin/grapnel"]`, "ENTRYPOINT /usr/local/bin/grapnel", "is no list"},
		{"Containerfile", "a flag that does not exist", `"--socket"`, `"--sock"`, "unknown flag: --sock"},
		{"Containerfile", "another program", "./cmd/grapnel", "./cmd/hookgen", "not the program"},
		{"Containerfile", "no version", "FROM debian:13-slim", "FROM debian", "names no version"},
		{"Containerfile", "an instruction with a typo", "STOPSIGNAL", "STOPSIG", "no instruction STOPSIG"},
		{"Containerfile", "a directory that is not made", "/state /run/grapnel /project", "/state /project", "--socket is /run/grapnel/grapnel.sock"},
	} {
		t.Run(m.file+"/"+m.name, func(t *testing.T) {
			t.Parallel()
			text := source(t, "deploy/"+m.file)
			require.Contains(t, text, m.old)
			found := kinds[m.file](string(bytes.ReplaceAll([]byte(text), []byte(m.old), []byte(m.wrong))))
			assert.Contains(t, strings.Join(found, "\n"), m.want)
		})
	}
}
