package sensitive

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
)

// MaskJSON masks the strings of a JSON document, so that it stays one. A string is also looked at as the value of its
// member's name: what {"password": "…"} has is found like password = "…". It returns doc itself if nothing was found. A text that
// is no JSON is masked as a text, and becomes a JSON string.
func (d *Detector) MaskJSON(doc []byte) []byte {
	masked, _ := d.MaskedJSON(doc)
	return masked
}

// MaskedJSON is MaskJSON, and returns also how many bytes of the document's texts are masked; 0 is nothing.
func (d *Detector) MaskedJSON(doc []byte) (masked []byte, hidden int) {
	var out bytes.Buffer
	hidden, err := d.maskValue(&out, json.NewDecoder(bytes.NewReader(doc)))
	switch {
	case err != nil:
		masked := d.Mask(string(doc))
		text, _ := json.Marshal(masked)
		return text, hiddenIn(string(doc), masked)
	case hidden == 0:
		return doc, 0
	}
	return out.Bytes(), hidden
}

var markers = regexp.MustCompile(`\[(?:` + string(Secret) + `|` + string(Personal) + `): [a-z0-9-]+\]`)

// hiddenIn returns how many bytes of a text the markers in the masked one stand for, at least 1 if there are any. A marker that somebody has written
// counts as well.
func hiddenIn(text, masked string) int {
	if text == masked {
		return 0
	}
	return max(1, len(text)-len(markers.ReplaceAllString(masked, "")))
}

// maskValue copies the document of dec. hidden is how many bytes were masked in it.
func (d *Detector) maskValue(out *bytes.Buffer, dec *json.Decoder) (hidden int, err error) {
	dec.UseNumber()
	type level struct {
		object bool
		n      int // tokens in it
	}
	var levels []level
	name, last := "", "" // of the member, and the text before in the same list or object
	for {
		tok, err := dec.Token()
		if err == io.EOF && len(levels) == 0 && out.Len() > 0 {
			return hidden, nil
		}
		if err != nil {
			return 0, err
		}
		top := len(levels) - 1
		delim, isDelim := tok.(json.Delim)
		if isDelim && (delim == '}' || delim == ']') {
			out.WriteByte(byte(delim))
			levels, name, last = levels[:top], "", ""
			continue
		}
		isName := top >= 0 && levels[top].object && levels[top].n%2 == 0
		if top >= 0 {
			switch n := levels[top].n; {
			case levels[top].object && n%2 == 1:
				out.WriteByte(':')
			case n > 0:
				out.WriteByte(',')
			}
			levels[top].n++
		} else if out.Len() > 0 {
			return 0, io.ErrUnexpectedEOF // a second document
		}
		switch v := tok.(type) {
		case json.Delim:
			out.WriteByte(byte(v))
			levels = append(levels, level{object: v == '{'})
			if last = ""; v == '{' {
				name = ""
			}
		case string:
			text := d.maskMember(name, last, v, isName)
			if !isName {
				last = v
			}
			hidden += hiddenIn(v, text)
			switch { // the name holds for all texts of a list
			case isName:
				name = v
			case top < 0 || levels[top].object:
				name = ""
			}
			writeJSON(out, text)
		default:
			writeJSON(out, v)
			if top < 0 || levels[top].object {
				name = ""
			}
		}
	}
}

// writeJSON writes a text, a number, a truth or null.
func writeJSON(out *bytes.Buffer, v any) {
	data, err := json.Marshal(v)
	if err != nil { // cannot happen: v came out of a decoder
		panic("sensitive: " + err.Error())
	}
	out.Write(data)
}

// maskMember masks a text with the name of its member, or as what follows another text in the same list or object: "--password", "…".
func (d *Detector) maskMember(name, last, text string, isName bool) string {
	if masked := d.maskString(name, text, isName); masked != text || isName {
		return masked
	}
	return d.maskString(last, text, false)
}

func (d *Detector) maskString(name, text string, isName bool) string {
	if isName || name == "" {
		return d.Mask(text)
	}
	if d.wants(kindAssigned) && secretName(name) && secretValue(name, text, true) {
		return Finding{Class: Secret, Kind: kindAssigned}.Marker()
	}
	if head := name + ": "; strings.EqualFold(strings.TrimPrefix(strings.ToLower(name), "proxy-"), "authorization") {
		if masked := d.Mask(head + text); strings.HasPrefix(masked, head) {
			return masked[len(head):]
		}
	}
	return d.Mask(text)
}
