package app

import (
	"cmp"
	"slices"

	"github.com/grapnel-go/grapnel/internal/config"
	"github.com/grapnel-go/grapnel/internal/trust"
)

// Setting is a setting that a file has and the running program has not: it is read when the program starts.
type Setting struct {
	// File is short for people.
	File string
	// Name is such as spending.day; "" is the whole file.
	Name string
	// Problem is why the next start would fail; "" if it would not.
	Problem string
}

// others returns the digests of further files that are read when the program starts. One that cannot be read counts as another file.
func (p Paths) others() map[string]string {
	out := map[string]string{}
	for _, f := range []struct {
		file string
		read func(string) ([]byte, error)
	}{{p.servers(), p.readProject}, {p.prices(), readUser}} {
		data, err := f.read(f.file)
		out[f.file] = trust.Digest(string(data))
		if err != nil {
			out[f.file] = err.Error()
		}
	}
	return out
}

// changedSettings returns what has changed since the program started, sorted by file.
func (a *App) changedSettings() (out []Setting) {
	add := func(file string, is config.Config, err error, was *config.Config) {
		if err != nil {
			out = append(out, Setting{File: a.paths.Short(file), Problem: a.redact.Text(err.Error())})
			return
		}
		for _, name := range is.Changed(was) {
			out = append(out, Setting{File: a.paths.Short(file), Name: name})
		}
	}
	user, project := a.paths.config(), a.paths.projectConfig()
	is, err := a.paths.Config()
	add(user, is, err, &a.conf)
	if project != user {
		is, err = config.LoadProject(project, a.paths.Root)
		add(project, is, err, &a.project)
	}
	for file, now := range a.paths.others() {
		if file != "" && now != a.settings[file] {
			out = append(out, Setting{File: a.paths.Short(file)})
		}
	}
	slices.SortFunc(out, func(x, y Setting) int { return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Name, y.Name)) })
	return out
}
