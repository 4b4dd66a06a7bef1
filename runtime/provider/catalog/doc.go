// Package catalog knows models as data: how much text they take, what they cost, and which
// settings they refuse. It makes no requests.
//
// Two tables are built in. models.json has one line per model, with the public source of its
// facts; what no source says is absent, which means unknown. families.json has the rules of
// model families, matched by vendor and model id; each vendor's last family is for models that
// nobody knew when the table was written. [Catalog.With] adds a file of the user's own.
//
//	c := catalog.Default()
//	m, known := c.Model("anthropic", "claude-opus-5-5")
//	price, priced := m.PriceAt(time.Now(), 20_000)
//	err := c.Check("anthropic", message.Model{Name: m.ID, Temperature: message.Some(0.2)})
//
// README.md has the form of that file, and says how the tables are renewed.
package catalog
