package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// The limits of a user's file.
const (
	maxFile    = 1 << 20 // bytes
	maxEntries = 1000    // models, and as many families
)

// userFile is the form of a user's file.
type userFile struct {
	Models   []userModel `json:"models"`
	Families []Family    `json:"families"`
}

// userModel is one model of a user's file: what it does not say stays as it is.
type userModel struct {
	Vendor  string    `json:"vendor"`
	ID      string    `json:"id"`
	Aliases []string  `json:"aliases"`
	Name    string    `json:"name"`
	Like    string    `json:"like"`
	Window  int       `json:"window"`
	Output  int       `json:"output"`
	Prices  []Price   `json:"prices"` // an empty list makes the price unknown
	Accepts []Ability `json:"accepts"`
	Source  string    `json:"source"`
}

// With returns the catalog with the models and families of a user's file, a JSON object:
//
//	{
//	  "models": [
//	    {"vendor": "openai", "id": "gpt-5.5", "prices": [{"input": 4, "output": 24}], "source": "our contract"},
//	    {"vendor": "azure", "id": "my-deployment", "like": "gpt-5.4", "window": 400000}
//	  ],
//	  "families": [
//	    {"vendor": "vllm", "match": ["qwen3-*"], "wire": "chat", "reasoning": "none"}
//	  ]
//	}
//
// A model that the catalog has changes in what the file says, another one is added. "like" names
// the id whose family's rules hold. The families of the file come before all others. The name of
// the file is for errors, which say file:line, what is wrong and what to write. Unknown and
// repeated keys are errors. c stays as it is.
func (c *Catalog) With(file string, data []byte) (*Catalog, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: the file has more than %d bytes", file, maxFile)
	}
	user, err := message.DecodeStrict[userFile](message.JSON(data))
	if err == nil {
		out, e := c.merge(file, user)
		if e == nil {
			return out, nil
		}
		err = e
	}
	return nil, fmt.Errorf("%s:%d: %w", file, lineOf(data, err), err)
}

func (c *Catalog) merge(file string, user userFile) (*Catalog, error) {
	if max(len(user.Models), len(user.Families)) > maxEntries {
		return nil, fmt.Errorf("more than %d models or families", maxEntries)
	}
	out := &Catalog{date: c.date, vendors: c.vendors, like: map[string]string{}}
	for key, id := range c.like {
		out.like[key] = id
	}
	for i, f := range user.Families {
		if f.Source == "" {
			f.Source = file
		}
		if err := f.check(); err != nil {
			return nil, fmt.Errorf("families[%d]: %w", i, err)
		}
		out.families = append(out.families, f)
	}
	out.families = append(out.families, c.families...)
	all := slices.Clone(c.models)
	seen := map[string]bool{}
	for i, u := range user.Models {
		key := u.Vendor + "/" + canonical(u.ID)
		if seen[key] {
			return nil, fmt.Errorf("models[%d]: %s of %s is given twice", i, u.ID, u.Vendor)
		}
		seen[key] = true
		at, known := c.byName[u.Vendor][canonical(u.ID)]
		if !known {
			at, all = len(all), append(all, Model{Vendor: u.Vendor, ID: u.ID})
		}
		m := u.over(all[at])
		if m.Source == "" || u.Source == "" {
			m.Source = file
		}
		if err := m.check(); err != nil {
			return nil, fmt.Errorf("models[%d]: %w", i, err)
		}
		all[at] = m
		if u.Like != "" {
			if err := checkName("like", u.Like); err != nil {
				return nil, fmt.Errorf("models[%d]: %w", i, err)
			}
			out.like[u.Vendor+"/"+canonical(m.ID)] = u.Like
		}
	}
	made, err := out.with(all)
	if taken, ok := errors.AsType[*takenError](err); ok {
		i := slices.IndexFunc(user.Models, func(u userModel) bool {
			return u.Vendor == taken.vendor && (canonical(u.ID) == canonical(taken.ids[0]) || canonical(u.ID) == canonical(taken.ids[1]))
		})
		return nil, fmt.Errorf("models[%d]: %w", i, err)
	}
	return made, err
}

// over returns the model with what the file says of it.
func (u userModel) over(m Model) Model {
	if u.Aliases != nil {
		m.Aliases = u.Aliases
	}
	if u.Name != "" {
		m.Name = u.Name
	}
	if u.Window != 0 {
		m.Window = u.Window
	}
	if u.Output != 0 {
		m.Output = u.Output
	}
	if u.Prices != nil {
		m.Prices = u.Prices
	}
	if u.Accepts != nil {
		m.Accepts = u.Accepts
	}
	m.Source, m.Date = u.Source, ""
	return m
}

// lineOf returns the line that the error is about: that of the broken text, or that on which the
// model or family begins which the error names.
func lineOf(data []byte, err error) int {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return line(data, int(syntax.Offset)-1)
	}
	if strings.Contains(err.Error(), "unexpected end") {
		return line(data, len(data))
	}
	place := regexp.MustCompile(`^(models|families)\[(\d+)\]`).FindStringSubmatch(err.Error())
	if place == nil {
		return 1
	}
	want, _ := strconv.Atoi(place[2])
	return line(data, entryAt(data, place[1], want))
}

// entryAt returns the offset at which an entry of one of the lists begins; 0 if it is not there.
func entryAt(data []byte, list string, want int) int {
	dec := json.NewDecoder(bytes.NewReader(data))
	depth, key, in, n := 0, "", false, 0
	for {
		before := dec.InputOffset()
		tok, err := dec.Token()
		if err != nil {
			return 0
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
			if tok == json.Delim('[') && depth == 2 {
				in, n = key == list, 0
			} else if in && depth == 3 {
				if n == want {
					return int(dec.InputOffset()) - 1
				}
				n++
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
			in = in && depth >= 2
		default:
			if s, ok := tok.(string); ok && depth == 1 {
				key = s
			}
			if in && depth == 2 {
				if n == want {
					return int(before) + 1
				}
				n++
			}
		}
	}
}

func line(data []byte, at int) int {
	return 1 + bytes.Count(data[:min(max(at, 0), len(data))], []byte("\n"))
}
