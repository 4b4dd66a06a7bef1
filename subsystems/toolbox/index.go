package toolbox

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/character"
)

// index finds tools by the words of their names, descriptions and parameters, ranked by BM25. It is immutable.
type index struct {
	docs []document
	// having counts the tools with a word. average is the mean length of a document.
	having  map[string]int
	average float64
}

// document is one tool.
type document struct {
	name   string
	weight map[string]float64
	length float64
}

const (
	// A word of the name counts as much as nameWeight words of the description.
	nameWeight = 3
	// The usual constants of BM25: how soon more of one word adds nothing, and how much long texts lose.
	saturation, lengthShare = 1.2, 0.75
	// exact is what the whole name of a tool adds; part is what a word adds that only stands within a longer one.
	exact = 1000
	part  = 0.3
	// maxText limits the text of a tool that is read, in characters, and maxWords the words of a query.
	maxText  = 4000
	maxWords = 32
)

func newIndex(tools []message.Tool) *index {
	x := &index{docs: make([]document, len(tools)), having: map[string]int{}}
	for i, t := range tools {
		d := document{name: strings.ToLower(t.Name), weight: map[string]float64{}}
		add := func(text string, weight float64) {
			text, _ = character.Cut(text, maxText)
			for _, w := range words(text) {
				d.weight[w] += weight
				d.length += weight
			}
		}
		add(t.Name, nameWeight)
		add(t.Description, 1)
		for _, p := range parameters(t.Input) {
			add(p, 1)
		}
		for w := range d.weight {
			x.having[w]++
		}
		x.docs[i], x.average = d, x.average+d.length
	}
	x.average /= max(1, float64(len(tools)))
	return x
}

// parameters returns the names and descriptions of the arguments, sorted.
func parameters(schema message.JSON) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal([]byte(schema), &s) != nil {
		return nil
	}
	var out []string
	for name, raw := range s.Properties {
		var p struct {
			Description string `json:"description"`
		}
		_ = json.Unmarshal(raw, &p) // a schema may be true or false
		out = append(out, name+" "+p.Description)
	}
	slices.Sort(out)
	return out
}

// search returns the places of the tools that fit the query best, at most limit.
func (x *index) search(query string, limit int) []int {
	type hit struct {
		at    int
		score float64
	}
	asked := words(query)
	asked = asked[:min(len(asked), maxWords)]
	var hits []hit
	for i := range x.docs {
		d := &x.docs[i]
		score := 0.0
		for _, w := range asked {
			score += x.score(d, w)
		}
		if strings.Contains(" "+strings.ToLower(query)+" ", " "+d.name+" ") {
			score += exact
		}
		if score > 0 {
			hits = append(hits, hit{i, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var out []int
	for _, h := range hits[:min(len(hits), limit)] {
		out = append(out, h.at)
	}
	return out
}

// score is how well one word fits.
func (x *index) score(d *document, word string) float64 {
	tf := d.weight[word]
	if tf == 0 {
		if len(word) > 3 && strings.Contains(d.name, word) {
			return part
		}
		return 0
	}
	n := float64(x.having[word])
	idf := math.Log(1 + (float64(len(x.docs))-n+0.5)/(n+0.5))
	return idf * tf * (saturation + 1) / (tf + saturation*(1-lengthShare+lengthShare*d.length/x.average))
}

// words returns the words of a text in lower case: parts of names such as listIssues and list_issues as well, and without the s
// of a plural.
func words(text string) []string {
	var out []string
	start, before := -1, rune(0)
	end := func(at int) {
		if start >= 0 {
			w := strings.ToLower(text[start:at])
			if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
				w = w[:len(w)-1]
			}
			out = append(out, w)
		}
		start = -1
	}
	for i, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end(i)
		case start >= 0 && unicode.IsUpper(r) && unicode.IsLower(before):
			end(i)
			start = i
		case start < 0:
			start = i
		}
		before = r
	}
	end(len(text))
	return out
}
