package app

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/grapnel-go/grapnel/internal/conffile"
)

// noteForeign notes which settings of Claude Code in the project have no effect here: a user
// may rely on their denials or hooks.
func noteForeign(o Options) {
	for _, name := range []string{"settings.json", "settings.local.json"} {
		file := filepath.Join(o.Paths.Root, ".claude", name)
		data, err := o.Paths.readProject(file)
		if err != nil {
			o.Note(fmt.Sprintf("%s has no effect here: %s", o.Paths.Short(file), conffile.Reason(err)))
			continue
		}
		if data == nil {
			continue
		}
		var settings struct {
			Permissions map[string]json.RawMessage `json:"permissions"`
			Hooks       map[string]json.RawMessage `json:"hooks"`
		}
		if err := json.Unmarshal(data, &settings); err != nil {
			o.Note(fmt.Sprintf("%s has no effect here, and is not what Claude Code reads either: %v", o.Paths.Short(file), err))
			continue
		}
		var keys []string
		if len(settings.Permissions) > 0 {
			keys = append(keys, "permissions")
		}
		if len(settings.Hooks) > 0 {
			keys = append(keys, "hooks")
		}
		if len(keys) > 0 {
			o.Note(fmt.Sprintf("%s: %s have no effect here; rules for tool calls are written in %s", o.Paths.Short(file),
				strings.Join(keys, " and "), o.Paths.Short(o.Paths.projectRules())))
		}
	}
}
