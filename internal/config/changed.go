package config

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Changed returns the names of the settings that differ from what was, sorted, such as spending.day or vendors.openai.key. It returns
// no values: some are secret.
func (c *Config) Changed(was *Config) []string {
	var out []string
	if !reflect.DeepEqual(c.Model, was.Model) {
		out = append(out, "model")
	}
	is, before := reflect.ValueOf(*c), reflect.ValueOf(*was)
	for i := range is.NumField() { // a section is a field of its name
		if !is.Type().Field(i).IsExported() {
			continue
		}
		if section, ok := is.Field(i).Interface().(message.JSON); ok {
			out = append(out, changedMembers(strings.ToLower(is.Type().Field(i).Name), section, before.Field(i).Interface().(message.JSON))...)
		}
	}
	both := maps.Clone(was.Vendors)
	if both == nil {
		both = map[string]Vendor{}
	}
	maps.Copy(both, c.Vendors)
	for name := range both {
		is, there := c.Vendors[name]
		before, known := was.Vendors[name]
		if there != known {
			out = append(out, "vendors."+name)
			continue
		}
		out = append(out, is.changed("vendors."+name+".", before)...)
	}
	slices.Sort(out)
	return out
}

// changedMembers returns the names of the members that differ in two sections.
func changedMembers(section string, is, was message.JSON) (out []string) {
	if is == was {
		return nil
	}
	members := func(text message.JSON) map[string]any {
		out := map[string]any{}
		_ = json.Unmarshal([]byte(text), &out) // "" has none; every other one is an object
		return out
	}
	now, before := members(is), members(was)
	for name, value := range now {
		if old, known := before[name]; !known || !reflect.DeepEqual(value, old) {
			out = append(out, section+"."+name)
		}
	}
	for name := range before {
		if _, there := now[name]; !there {
			out = append(out, section+"."+name)
		}
	}
	if len(out) == 0 && (is == "" || was == "") {
		return []string{section}
	}
	return out
}

// changed returns the names of the settings that differ, with a prefix.
func (v *Vendor) changed(prefix string, was Vendor) (out []string) {
	for _, s := range []struct {
		name string
		same bool
	}{
		{"preset", v.Preset == was.Preset}, {"key", reflect.DeepEqual(v.Key, was.Key)}, {"base_url", v.BaseURL == was.BaseURL},
		{"ca_file", v.CAFile == was.CAFile}, {"proxy", v.Proxy == was.Proxy}, {"first_byte_timeout", v.FirstByteTimeout == was.FirstByteTimeout},
		{"idle_timeout", v.IdleTimeout == was.IdleTimeout}, {"headers", reflect.DeepEqual(v.Header, was.Header)}, {"context_window", v.ContextWindow == was.ContextWindow},
	} {
		if !s.same {
			out = append(out, prefix+s.name)
		}
	}
	return out
}
