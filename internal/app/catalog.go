package app

import (
	"path/filepath"

	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
)

// Catalog returns what is known about models: the built-in catalog with the user's file
// ~/.grapnel/models.json, if there is one. A project has none, because the user pays.
func (p Paths) Catalog() (*catalog.Catalog, error) {
	get, err := p.openCatalog()
	if err != nil {
		return nil, err
	}
	return get(), nil
}

// openCatalog reads the user's file, and leaves the built-in tables, which most runs do not
// need, to the first call of the function.
func (p Paths) openCatalog() (func() *catalog.Catalog, error) {
	if p.Home == "" {
		return catalog.Default, nil
	}
	file := filepath.Join(p.Home, ".grapnel", "models.json")
	data, err := readUser(file)
	if err != nil || data == nil {
		return catalog.Default, err
	}
	c, err := catalog.Default().With(p.Short(file), data)
	return func() *catalog.Catalog { return c }, err
}
