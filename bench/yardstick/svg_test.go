package main

import (
	"encoding/xml"
	"image/color"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// element is one element of a picture.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []element  `xml:",any"`
}

func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (e element) number(t *testing.T, name string) float64 {
	n, err := strconv.ParseFloat(strings.TrimSuffix(e.attr(name), "pt"), 64)
	require.NoError(t, err, "%s=%q", name, e.attr(name))
	return n
}

// each calls do for the element and all below it, but not for what is turned.
func (e element) each(do func(e element)) {
	if strings.HasPrefix(e.attr("transform"), "rotate") {
		return
	}
	do(e)
	for _, c := range e.Children {
		c.each(do)
	}
}

// TestChartsHoldInAnyFont: in one that is as wide as DejaVu Sans no text leaves the
// picture, and the title stays in its middle.
func TestChartsHoldInAnyFont(t *testing.T) {
	const wide = 0.57 // of the font's size, for each character of a word
	size := regexp.MustCompile(`font-size:(\d+)px`)
	charts, err := fixed().charts()
	require.NoError(t, err)
	for _, c := range charts {
		var root element
		require.NoError(t, xml.Unmarshal(c.svg, &root))
		width, titles := root.number(t, "width"), 0
		root.each(func(e element) {
			if e.XMLName.Local != "text" {
				return
			}
			m := size.FindStringSubmatch(e.attr("style"))
			require.NotNil(t, m, e.Text)
			pixels, err := strconv.ParseFloat(m[1], 64)
			require.NoError(t, err)
			x, w := e.number(t, "x"), wide*pixels*float64(len([]rune(e.Text)))
			left := x
			switch e.attr("text-anchor") {
			case "middle":
				left = x - w/2
			case "end":
				left = x - w
			}
			assert.GreaterOrEqual(t, left, 0.0, "%s: %q", c.file, e.Text)
			assert.LessOrEqual(t, left+w, width, "%s: %q is cut off", c.file, e.Text)
			if e.Text == c.title {
				titles++
				assert.Equal(t, "middle", e.attr("text-anchor"))
				assert.InDelta(t, width/2, x, 0.1)
			}
		})
		assert.Equal(t, 1, titles, c.file)
		assert.NotContains(t, string(c.svg), fromMiddle)
		assert.NotContains(t, string(c.svg), fromEnd)
	}
}

// TestChartsAreDarkOnDarkPages: every colour comes from the style sheet, which has one
// for a dark page of all but the bars and what is written on them.
func TestChartsAreDarkOnDarkPages(t *testing.T) {
	stay := map[string]bool{}
	for _, c := range append([]color.Color{onBars}, barColours...) {
		stay[hex(c)] = true
	}
	charts, err := fixed().charts()
	require.NoError(t, err)
	for _, c := range charts {
		sheet, rest, ok := strings.Cut(string(c.svg), "</style>")
		require.True(t, ok)
		assert.NotRegexp(t, `#[0-9A-Fa-f]{3,6}`, rest, c.file)
		light, dark, ok := strings.Cut(sheet, "@media (prefers-color-scheme:dark){")
		require.True(t, ok)
		classes := regexp.MustCompile(`(?:fill|stroke)-([0-9A-F]{6})`).FindAllStringSubmatch(rest, -1)
		require.NotEmpty(t, classes)
		for _, m := range classes {
			assert.Contains(t, light, "."+m[0]+"{")
			assert.Equal(t, !stay[m[1]], strings.Contains(dark, "."+m[0]+"{"), "%s: %s", c.file, m[0])
		}
	}
}
