package main

import (
	"errors"
	"io"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// strict decodes YAML whose every key is known.
func strict(dec *yaml.Decoder, into any, found *problems) bool {
	dec.KnownFields(true)
	err := dec.Decode(into)
	if err != nil && !errors.Is(err, io.EOF) {
		found.add("%v", err)
	}
	return err == nil
}

// checkCompose lists what is wrong with a compose file.
func (c deployChecks) checkCompose(text string) (found problems) {
	var f compose
	if !strict(yaml.NewDecoder(strings.NewReader(text)), &f, &found) {
		return found
	}
	sockets := map[string]string{} // by their places, the daemons that listen there
	for _, name := range slices.Sorted(maps.Keys(f.Services)) {
		s := f.Services[name]
		of := composeReferences(f, s)
		if at := slices.Index(s.Command, "--socket"); at >= 0 && at+1 < len(s.Command) {
			if other := sockets[s.Command[at+1]]; other != "" {
				of.add("the socket %s is that of %s too", s.Command[at+1], other)
			}
			sockets[s.Command[at+1]] = name
		}
		if len(s.Command) > 0 {
			ct := composeContainer(s, &of)
			of = slices.Concat(of, c.check(ct), confined(s))
		}
		for _, p := range of {
			found.add("%s: %s", name, p)
		}
	}
	return found
}

// composeReferences finds what the service names and the file does not have.
func composeReferences(f compose, s service) (found problems) {
	for _, v := range s.Volumes {
		if name, _, _ := strings.Cut(v, ":"); !has(f.Volumes, name) {
			found.add("there is no volume %s", name)
		}
	}
	for _, name := range s.Secrets {
		if !has(f.Secrets, name) {
			found.add("there is no secret %s", name)
		}
	}
	for name := range s.DependsOn {
		if !has(f.Services, name) {
			found.add("there is no service %s", name)
		}
	}
	database := f.Services["postgres"].Environment
	for _, word := range s.Command {
		if u, err := url.Parse(word); err == nil && u.Scheme == "postgres" && (u.User.Username() != database["POSTGRES_USER"] || u.Path != "/"+database["POSTGRES_DB"]) {
			found.add("the database is %s's and %s, and postgres makes %s's and %s", u.User.Username(), u.Path, database["POSTGRES_USER"], database["POSTGRES_DB"])
		}
	}
	if b := s.Build; b.Context != "" {
		if _, err := os.Stat(filepath.Join(root, "deploy", b.Context, b.Dockerfile)); err != nil {
			found.add("%v", err)
		}
	}
	return found
}

func has[V any](m map[string]V, key string) bool { _, ok := m[key]; return ok }

// composeContainer is the container of a daemon.
func composeContainer(s service, found *problems) container {
	ct := container{args: s.Command, env: s.Environment, user: s.User}
	for _, v := range s.Volumes {
		_, at, _ := strings.Cut(v, ":")
		ct.places = append(ct.places, at)
	}
	for _, name := range s.Secrets {
		ct.places = append(ct.places, path.Join("/run/secrets", name))
	}
	for _, p := range s.Ports {
		ct.ports = append(ct.ports, port(p[strings.LastIndex(p, ":"):], found))
	}
	var err error
	if ct.grace, err = time.ParseDuration(s.StopGrace); err != nil {
		found.add("%v", err)
	}
	test := s.Healthcheck.Test
	if len(test) < 3 || test[0] != "CMD" || test[1] != "curl" || !slices.Contains(test, "--fail") {
		found.add("the health check is no curl --fail: %v", test)
		return ct
	}
	u, err := url.Parse(test[len(test)-1])
	at := slices.Index(test, "--unix-socket")
	if err != nil || at < 0 {
		found.add("the health check asks no socket: %v", test)
		return ct
	}
	ct.probes = []containerProbe{{path: u.Path, socket: test[at+1]}}
	return ct
}

// confined finds what the service does not allow the sandbox, which says itself what that is.
func confined(s service) (found problems) {
	text, err := os.ReadFile(filepath.Join(root, "runtime/sandbox/probe_linux.go"))
	options := regexp.MustCompile(`--security-opt (\S+)`).FindAllSubmatch(text, -1)
	if err != nil || len(options) < 3 {
		found.add("the sandbox does not say what it needs in a container: %v", err)
	}
	for _, o := range options {
		if !slices.Contains(s.SecurityOpt, string(o[1])) {
			found.add("the sandbox needs security_opt %s", o[1])
		}
	}
	if !slices.Contains(s.CapDrop, "ALL") || !slices.Contains(s.SecurityOpt, "no-new-privileges=true") {
		found.add("it keeps capabilities or may gain privileges")
	}
	return found
}
