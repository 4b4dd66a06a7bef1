package picture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// Format is an output format of a view.
type Format string

// The formats.
const (
	Text     Format = "text"
	Markdown Format = "md"
	JSON     Format = "json"
)

// Formats returns all formats.
func Formats() []Format { return []Format{Text, Markdown, JSON} }

// ParseFormat returns the format of this name.
func ParseFormat(name string) (Format, error) {
	var names []string
	for _, f := range Formats() {
		if string(f) == name {
			return f, nil
		}
		names = append(names, string(f))
	}
	return "", fmt.Errorf("there is no format %q; the formats are %s", name, strings.Join(names, ", "))
}

// FormatOf returns the format of a file with this name: .txt, .md or .json.
func FormatOf(file string) (Format, error) {
	switch ext := strings.ToLower(path.Ext(file)); ext {
	case ".txt":
		return Text, nil
	case ".md", ".json":
		return Format(ext[1:]), nil
	}
	return "", fmt.Errorf("the format of %q is unknown; end the name in .txt, .md or .json, or give the format", file)
}

// Render renders the views in their order into one text: JSON is an array, Markdown has a
// section with a picture for each. The text ends in a line break.
func Render(f Format, views ...*View) ([]byte, error) {
	switch f {
	case Text:
		return joined(views, text), nil
	case Markdown:
		return joined(views, mermaid), nil
	case JSON:
		if views == nil {
			views = []*View{}
		}
		return encoded(views)
	}
	_, err := ParseFormat(string(f))
	return nil, err
}

// JSON returns the view alone as JSON: an object.
func (v *View) JSON() ([]byte, error) { return encoded(v) }

func encoded(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return out.Bytes(), err
}

func joined(views []*View, show func(*View) string) []byte {
	var parts []string
	for _, v := range views {
		parts = append(parts, show(v))
	}
	return []byte(strings.Join(parts, "\n"))
}
