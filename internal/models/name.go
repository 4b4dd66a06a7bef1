package models

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// scriptPrefix begins the ids of scripted models. The path of the script's file follows,
// relative to the project.
const scriptPrefix = "script:"

// Script returns the path of the file of a scripted model; false for other models.
func Script(id string) (file string, scripted bool) { return strings.CutPrefix(id, scriptPrefix) }

// Absolute makes the file in the id of a scripted model an absolute path. A path that a
// person types is relative to the working directory, also with --dir.
func Absolute(id string) string {
	file, ok := strings.CutPrefix(id, scriptPrefix)
	if !ok || file == "" {
		return id
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return id
	}
	return scriptPrefix + abs
}

// split returns the vendor and the name in an id.
func split(id string) (vendor, name string) {
	vendor, name, _ = strings.Cut(id, ":")
	return vendor, name
}

// Resolve returns the id, VENDOR:NAME or script:FILE, of a model that a person names. A name
// without a vendor is looked up: it must mean one model, or only one whose vendor has a key.
// The error of "" is ErrNone.
func (m *Models) Resolve(name string) (id string, err error) {
	if name == "" {
		return "", fmt.Errorf("%w: name one with --model VENDOR:NAME or --model script:FILE, with `model:` in the agent's file or in %s", ErrNone, m.file())
	}
	vendor, rest := split(name)
	if rest != "" && (vendor+":" == scriptPrefix || slices.Contains(m.names(), vendor)) {
		return name, nil
	}
	var found []string
	for _, known := range m.o.Catalog.Find(name) {
		if id := known.Vendor + ":" + known.ID; known.ID != "" && slices.Contains(m.names(), known.Vendor) && !slices.Contains(found, id) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("there is no model %q; write VENDOR:NAME, the vendor being one of %s, or script:FILE", name, strings.Join(m.names(), ", "))
	case 1:
		return found[0], nil
	}
	ready := slices.DeleteFunc(slices.Clone(found), func(id string) bool {
		vendor, _ := split(id)
		has, _ := m.Configured(vendor)
		return !has
	})
	if len(ready) == 1 {
		return ready[0], nil
	}
	return "", fmt.Errorf("%q is the name of several models; write one of %s", name, strings.Join(found, ", "))
}
