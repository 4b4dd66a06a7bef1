package jail

import "encoding/json"

// Paths may be any bytes, and strings of JSON may not: what is no UTF-8 would name another file. So on the wire each byte of a path is a
// character.

type (
	wireMount Mount
	wireSpec  Spec
)

// MarshalJSON writes the mount so that its paths stay what they are.
func (m Mount) MarshalJSON() ([]byte, error) {
	for _, p := range []*string{&m.Source, &m.Within, &m.Target, &m.Upper, &m.Work} {
		*p = characters(*p)
	}
	return json.Marshal(wireMount(m))
}

// UnmarshalJSON reads what MarshalJSON has written.
func (m *Mount) UnmarshalJSON(data []byte) error {
	err := json.Unmarshal(data, (*wireMount)(m))
	for _, p := range []*string{&m.Source, &m.Within, &m.Target, &m.Upper, &m.Work} {
		*p = octets(*p)
	}
	return err
}

// MarshalJSON writes the confinement so that its paths stay what they are.
func (s Spec) MarshalJSON() ([]byte, error) {
	s.Base, s.Write, s.Read = characters(s.Base), each(s.Write, characters), each(s.Read, characters)
	return json.Marshal(wireSpec(s))
}

// UnmarshalJSON reads what MarshalJSON has written.
func (s *Spec) UnmarshalJSON(data []byte) error {
	err := json.Unmarshal(data, (*wireSpec)(s))
	s.Base, s.Write, s.Read = octets(s.Base), each(s.Write, octets), each(s.Read, octets)
	return err
}

func characters(path string) string {
	out := make([]rune, len(path))
	for i := range len(path) {
		out[i] = rune(path[i])
	}
	return string(out)
}

func octets(text string) string {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		out = append(out, byte(r))
	}
	return string(out)
}

// each applies f to each text; nil stays nil.
func each(texts []string, f func(string) string) []string {
	if texts == nil {
		return nil
	}
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = f(t)
	}
	return out
}
