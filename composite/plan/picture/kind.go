package picture

// kind is how a kind of point looks: its shape, after the language of flow
// charts, and its colours in light and in dark, after the palette of Okabe and
// Ito, which colour-blind people can tell apart; shape and brightness differ too.
type kind struct {
	name, says  string
	shape       shape
	light, dark colours
}

// colours of a kind: of the shape, of the number in it, and of lines, which have
// to be darker than a shape to be seen as well.
type colours struct{ fill, ink, line string }

type shape int

const (
	square shape = iota
	hexagon
	slanted
	diamond
	ring
	disc
)

const (
	white = "#ffffff"
	black = "#0d1117"
)

func kinds() []kind {
	return []kind{
		{"facade", "a method that every hook has", square, colours{"#57606a", white, "#57606a"}, colours{"#9aa4af", black, "#9aa4af"}},
		{"contribute", "adds something", hexagon, colours{"#00735a", white, "#00735a"}, colours{"#2cc295", black, "#2cc295"}},
		{"rewrite", "changes the value", slanted, colours{"#f0b400", black, "#946c00"}, colours{"#f0c040", black, "#f0c040"}},
		{"decide", "allows or stops", diamond, colours{"#b83a00", white, "#b83a00"}, colours{"#ff7d4d", black, "#ff7d4d"}},
		{"wrap", "surrounds the operation", ring, colours{"#8a4a83", white, "#8a4a83"}, colours{"#e39bc6", black, "#e39bc6"}},
		{"observe", "only looks on", disc, colours{"#6cc0f2", black, "#1b7fb8"}, colours{"#6cc3f5", black, "#6cc3f5"}},
	}
}

// kindOf returns the kind of this name; one that is not known looks like the
// facade.
func kindOf(name string) kind {
	for _, k := range kinds() {
		if k.name == name {
			return k
		}
	}
	return kinds()[0]
}
