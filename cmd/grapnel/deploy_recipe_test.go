package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// recipe is what the Containerfile makes.
type recipe struct {
	user   string
	places []string
	run    container
}

// instruction is one of a Containerfile.
type instruction struct{ name, args string }

func instructions(text string) (out []instruction) {
	text = regexp.MustCompile(`\\\n`).ReplaceAllString(text, " ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, args, _ := strings.Cut(line, " ")
		out = append(out, instruction{name, strings.TrimSpace(args)})
	}
	return out
}

// readRecipe reads the last stage of a Containerfile. It knows the instructions that it has.
func readRecipe(text string) (r recipe, found problems) {
	const program = "/usr/local/bin/grapnel"
	var entry []string
	copied := false
	r.run.env = map[string]string{}
	for _, in := range instructions(text) {
		switch in.name {
		case "FROM":
			if base, _, _ := strings.Cut(in.args, " "); !strings.Contains(base, ":") {
				found.add("FROM %s names no version", base)
			}
			r.user, r.places = "", nil
		case "RUN":
			if m := regexp.MustCompile(`install --directory .*?((?: /\S+)+)`).FindStringSubmatch(in.args); m != nil {
				r.places = append(r.places, strings.Fields(m[1])...)
			}
			if m := regexp.MustCompile(`go build .*-o (\S+) (\S+)`).FindStringSubmatch(in.args); m != nil && m[2] != "./cmd/grapnel" {
				found.add("go build makes %s of %s, which is not the program", m[1], m[2])
			}
		case "COPY":
			copied = copied || strings.HasPrefix(in.args, "--from=build /grapnel ") && strings.HasSuffix(in.args, " "+program)
		case "ENV":
			name, value, _ := strings.Cut(in.args, "=")
			r.run.env[name] = value
		case "USER":
			r.user = in.args
		case "ENTRYPOINT", "CMD":
			to := &r.run.args
			if in.name == "ENTRYPOINT" {
				to = &entry
			}
			if err := json.Unmarshal([]byte(in.args), to); err != nil {
				found.add("%s %s is no list: a shell would be between the program and its signals", in.name, in.args)
			}
		case "WORKDIR", "STOPSIGNAL":
		default:
			found.add("no instruction %s is known", in.name)
		}
	}
	if !slices.Equal(entry, []string{program}) || !copied {
		found.add("the image starts %v; the program is built as %s", entry, program)
	}
	if id, _, _ := strings.Cut(r.user, ":"); !regexp.MustCompile(`^[1-9][0-9]*$`).MatchString(id) {
		found.add("the image runs as %q; write the number of a user that is not root", r.user)
	}
	return r, found
}
