package app

import (
	"path/filepath"

	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
)

// Catalog returns what is known about models: the built-in catalog with the user's file
// ~/.grapnel/models.json, if there is one. A project has none, because the user pays.
func (p Paths) Catalog() (*catalog.Catalog, error) {
	c := catalog.Default()
	if p.Home == "" {
		return c, nil
	}
	file := filepath.Join(p.Home, ".grapnel", "models.json")
	data, err := readUser(file)
	if err != nil || data == nil {
		return c, err
	}
	return c.With(p.Short(file), data)
}
