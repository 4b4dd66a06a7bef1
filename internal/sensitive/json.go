package sensitive

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// MaskJSON masks the strings of a JSON document, so that it stays one. A string is also looked at as the value of its
// member's name: what {"password": "…"} has is found like password = "…". It returns doc itself if nothing was found. A text that
// is no JSON is masked as a text, and becomes a JSON string.
func (d *Detector) MaskJSON(doc []byte) []byte {
	var out bytes.Buffer
	found, err := d.maskValue(&out, json.NewDecoder(bytes.NewReader(doc)))
	switch {
	case err != nil:
		text, _ := json.Marshal(d.Mask(string(doc)))
		return text
	case !found:
		return doc
	}
	return out.Bytes()
}

// maskValue copies the document of dec. found says that something was masked in it.
func (d *Detector) maskValue(out *bytes.Buffer, dec *json.Decoder) (found bool, err error) {
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
			return found, nil
		}
		if err != nil {
			return false, err
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
			return false, io.ErrUnexpectedEOF // a second document
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
			found = found || text != v
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
