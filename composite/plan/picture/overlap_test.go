package picture_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/composite/plan/picture"
)

// box is a part of the picture: what a line of text or a shape takes.
type box struct {
	what                     string
	left, top, right, bottom float64
}

func (b box) String() string {
	return fmt.Sprintf("%q at %.0f,%.0f to %.0f,%.0f", b.what, b.left, b.top, b.right, b.bottom)
}

func (b box) meets(o box) bool {
	const touch = 0.2 // coordinates have one decimal
	return b.left < o.right-touch && o.left < b.right-touch && b.top < o.bottom-touch && o.top < b.bottom-touch
}

func (b box) inside(o box) bool {
	return b.left >= o.left && b.top >= o.top && b.right <= o.right && b.bottom <= o.bottom
}

// drawing is an SVG as a reader of its text sees it: nothing of the layout's own
// arithmetic is used.
type drawing struct {
	view   box
	labels []box
}

// wide is about the width of a line in a common font, by classes of characters:
// the layout has its own table, which this one must not know.
func wide(s string, size float64, mono bool) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case mono && r < utf8.RuneSelf:
			w += 0.61
		case r >= utf8.RuneSelf:
			w++
		case strings.ContainsRune("iljI|!.,:;'`", r):
			w += 0.34
		case strings.ContainsRune("WMmw@%", r):
			w += 0.85
		case strings.ContainsRune(" ftr()[]{}/\\\"-*", r):
			w += 0.4
		default:
			w += 0.55
		}
	}
	return w * size
}

var classSize = regexp.MustCompile(`\.(\w+)\{font-size:([\d.]+)px([^}]*)\}`)

// read takes the labels out of an SVG, and refuses what is no XML.
func read(t *testing.T, text string) drawing {
	t.Helper()
	size, mono := map[string]float64{}, map[string]bool{}
	for _, m := range classSize.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(m[2], 64)
		require.NoError(t, err)
		size[m[1]], mono[m[1]] = n, strings.Contains(m[3], "monospace")
	}
	require.NotEmpty(t, size)
	var d drawing
	dec := xml.NewDecoder(strings.NewReader(text))
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return d
		}
		require.NoError(t, err)
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		attr := map[string]string{}
		for _, a := range start.Attr {
			attr[a.Name.Local] = a.Value
		}
		switch start.Name.Local {
		case "svg":
			_, err := fmt.Sscanf(attr["viewBox"], "%f %f %f %f", &d.view.left, &d.view.top, &d.view.right, &d.view.bottom)
			require.NoError(t, err)
		case "text":
			var s string
			require.NoError(t, dec.DecodeElement(&s, &start))
			class, _, _ := strings.Cut(attr["class"], " ")
			d.labels = append(d.labels, label(t, s, attr, size[class], mono[class]))
		}
	}
}

func label(t *testing.T, s string, attr map[string]string, size float64, mono bool) box {
	t.Helper()
	require.Positive(t, size, "the class of %q has no size", s)
	number := func(name string) float64 {
		n, err := strconv.ParseFloat(attr[name], 64)
		require.NoError(t, err)
		return n
	}
	x, y, w := number("x"), number("y"), wide(s, size, mono)
	if attr["textLength"] != "" {
		w = number("textLength")
	}
	if attr["text-anchor"] == "middle" {
		x -= w / 2
	}
	return box{s, x, y - 0.8*size, x + w, y + 0.25*size}
}

// faults are the labels that meet or leave the picture.
func (d drawing) faults() []string {
	var out []string
	for i, a := range d.labels {
		if !a.inside(d.view) {
			out = append(out, "leaves the picture: "+a.String())
		}
		for _, b := range d.labels[:i] {
			if a.meets(b) {
				out = append(out, "overlap: "+a.String()+" and "+b.String())
			}
		}
	}
	return out
}

func sources() map[string]picture.Source {
	empty := picture.Source{Plan: &plan.Plan{Type: "app.Empty"}, Points: points()}
	return map[string]picture.Source{"rich": rich(), "crowd": crowd(), "hostile": hostile(), "empty": empty, "daemon": daemon()}
}

func TestLabelsNeitherOverlapNorLeave(t *testing.T) {
	for name, s := range sources() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := read(t, render(t, picture.SVG, s))
			require.NotEmpty(t, d.labels)
			assert.Empty(t, d.faults())
		})
	}
	t.Run("several", func(t *testing.T) {
		out, err := picture.Render(picture.SVG, picture.New(rich()), picture.New(daemon()))
		require.NoError(t, err)
		assert.Empty(t, read(t, string(out)).faults())
	})
}

// TestTheOverlapTestCanFail moves one label of a good picture onto another, out of
// the picture, or makes it longer.
func TestTheOverlapTestCanFail(t *testing.T) {
	good := render(t, picture.SVG, rich())
	require.Empty(t, read(t, good).faults())
	at := regexp.MustCompile(`<text x="([\d.]+)" y="([\d.]+)"([^>]*)>Guard<`)
	place := at.FindStringSubmatch(good)
	require.NotNil(t, place)
	for name, text := range map[string]string{
		"over the next": strings.ReplaceAll(good, ">Guard<", ">"+strings.Repeat("Guard", 9)+"<"),
		"out below":     strings.Replace(good, place[0], `<text x="10" y="99999"`+place[3]+">Guard<", 1),
		"out left":      strings.Replace(good, place[0], `<text x="-1" y="`+place[2]+`"`+place[3]+">Guard<", 1),
		"rows too low":  halved(good),
	} {
		require.NotEqual(t, good, text, name)
		assert.NotEmpty(t, read(t, text).faults(), name)
	}
}

// halved is the picture pressed to half its height, with fonts as before.
func halved(svg string) string {
	y := regexp.MustCompile(`(<text [^>]*y=")([\d.]+)"`)
	return y.ReplaceAllStringFunc(svg, func(s string) string {
		m := y.FindStringSubmatch(s)
		n, _ := strconv.ParseFloat(m[2], 64)
		return fmt.Sprintf(`%s%.1f"`, m[1], n/2)
	})
}
