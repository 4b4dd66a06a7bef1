package config_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/config"
	"github.com/grapnel-go/grapnel/internal/keys"
)

func known() []string { return []string{"openai", "ollama", "vllm"} }

const whole = `model: {name: "openai:small", reasoning: low}
vendors:
  openai:
    key: {command: [op, read, "op://private/openai/key"]}
    base_url: https://gateway.example.com/v1
    ca_file: ~/corp.pem
    proxy: none
    first_byte_timeout: 2m
    idle_timeout: off
    headers: {x-team: blue}
    context_window: 32768
  ollama:
  lab: {preset: vllm, base_url: "http://127.0.0.1:9000/v1", key: {file: /run/secrets/lab}, proxy: "socks5://127.0.0.1:1080"}
spending:
  day: 5.50
  token: {ci: 1}
`

func TestParse(t *testing.T) {
	t.Parallel()
	c, err := config.Parse("config.yaml", []byte(whole), known())
	require.NoError(t, err)
	assert.Equal(t, message.Model{Name: "openai:small", Reasoning: message.Reasoning{Effort: message.EffortLow}}, c.Model)
	assert.Equal(t, message.JSON(`{"day":5.50,"token":{"ci":1}}`), c.Spending)
	assert.Equal(t, map[string]config.Vendor{
		"openai": {
			Key: keys.Source{Command: []string{"op", "read", "op://private/openai/key"}}, BaseURL: "https://gateway.example.com/v1", CAFile: "~/corp.pem", Proxy: "none",
			FirstByteTimeout: 2 * time.Minute, IdleTimeout: -1, Header: http.Header{"X-Team": {"blue"}}, ContextWindow: 32768,
		},
		"lab": {Preset: "vllm", BaseURL: "http://127.0.0.1:9000/v1", Key: keys.Source{File: "/run/secrets/lab"}, Proxy: "socks5://127.0.0.1:1080"},
	}, withoutEmpty(c.Vendors))
	assert.Equal(t, "config.yaml:1:8: it is gone; name another one", c.Problem("model", "it is gone", "name another one").String())
	for _, text := range []string{"", "# nothing\n", "model:\nvendors:\n"} {
		c, err := config.Parse("config.yaml", []byte(text), known())
		require.NoError(t, err)
		assert.Zero(t, c.Model)
		assert.Empty(t, c.Vendors)
	}
}

// withoutEmpty returns the vendors without those that say nothing.
func withoutEmpty(in map[string]config.Vendor) map[string]config.Vendor {
	out := map[string]config.Vendor{}
	for name, v := range in {
		if v.BaseURL != "" {
			out[name] = v
		}
	}
	return out
}

const canary = "sk-canary-0123456789"

func TestParseSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	const keyFix = "write `key: {env: NAME}`, `{file: PATH}`, `{keyring: NAME}` or `{command: [PROGRAM, ARGUMENT]}`"
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":         {"modle: x", `c:1:1: unknown key "modle"; did you mean "model"?`},
		"twice":               {"model: x\nmodel: y", `c:2:1: key "model" is given twice, first in line 1; delete one of them`},
		"no mapping":          {"- x", "c:1:1: the file is no mapping; write `key: value` lines"},
		"no YAML":             {"model: [x", "c:1:1: the file is no YAML: did not find expected ',' or ']' in line 1; x"},
		"no vendors":          {"vendors: [openai]", "c:1:10: vendors is no mapping; write `vendors: {openai: {key: {env: OPENAI_API_KEY}}}`"},
		"vendor twice":        {"vendors:\n  openai: {}\n  openai: {}", `c:3:3: key of vendors "openai" is given twice, first in line 2; delete one of them`},
		"vendor":              {"vendors: {opnai: {}}", `c:1:11: there is no vendor "opnai"; did you mean openai? A server of your own has a preset`},
		"vendor of one's own": {"vendors: {mine: {base_url: 'http://h'}}", `c:1:11: there is no vendor "mine"; name the vendor whose wire it has with preset: one of openai, ollama, vllm`},
		"preset":              {"vendors: {mine: {preset: x}}", `c:1:11: there is no preset "x"; use one of openai, ollama, vllm`},
		"preset of a vendor":  {"vendors: {openai: {preset: vllm}}", `c:1:11: openai is a vendor of the program and has no preset; delete preset, or give your server another name`},
		"name":                {"vendors: {'a b': {}}", `c:1:11: "a b" is no name for a vendor; use 1 to 32 lower-case letters, digits and -, the first one being a letter`},
		"script":              {"vendors: {script: {preset: vllm}}", `c:1:11: "script" is no name for a vendor; use 1 to 32 lower-case letters, digits and -, the first one being a letter`},
		"the key itself":      {"vendors: {openai: {key: " + canary + "}}", "c:1:25: vendors.openai.key is no mapping: the key itself does not belong here; " + keyFix},
		"the key as a name":   {"vendors: {openai: {key: {env: " + canary + "}}}", "c:1:31: vendors.openai.key.env is no name of a variable; write the name, such as OPENAI_API_KEY, and not the key"},
		"two places":          {"vendors: {openai: {key: {env: A, file: /b}}}", "c:1:25: vendors.openai.key must name one place; " + keyFix},
		"no place":            {"vendors: {openai: {key: {}}}", "c:1:25: vendors.openai.key must name one place; " + keyFix},
		"another place":       {"vendors: {openai: {key: {vault: x}}}", `c:1:26: unknown key of vendors.openai.key "vault"; known are command, env, file, keyring`},
		"inherited":           {"vendors: {openai: {key: {env: LC_KEY}}}", "c:1:31: vendors.openai.key.env is LC_KEY, which commands and MCP servers inherit; keep the key in a variable of its own"},
		"relative file":       {"vendors: {openai: {key: {file: key}}}", "c:1:32: vendors.openai.key.file depends on the working directory; write an absolute path, or one that begins with ~/"},
		"shell command":       {"vendors: {openai: {key: {command: op read}}}", "c:1:35: vendors.openai.key.command is no list; write the program and its arguments as a list: `command: [op, read, \"op://private/openai/key\"]`"},
		"empty command":       {"vendors: {openai: {key: {command: []}}}", "c:1:35: vendors.openai.key.command names no program; write the program and its arguments as a list: `command: [op, read, \"op://private/openai/key\"]`"},
		"address":             {"vendors: {openai: {base_url: 'ftp://me:hunter22@h'}}", "c:1:30: vendors.openai.base_url is no address; write http|https://host:port/path"},
		"proxy":               {"vendors: {openai: {proxy: proxy}}", "c:1:27: vendors.openai.proxy is no address; write http|https|socks5|socks5h://host:port/path"},
		"timeout":             {"vendors: {openai: {idle_timeout: 90}}", `c:1:34: vendors.openai.idle_timeout is "90"; write a time with its unit: 90s, 2m, 1h30m`},
		"header":              {"vendors: {openai: {headers: {'a b': c}}}", "c:1:30: vendors.openai.headers has no valid name or value here; write `NAME: value` with printable ASCII"},
		"header's value":      {"vendors: {openai: {headers: {A: \"b\\r\\nC: d\"}}}", "c:1:30: vendors.openai.headers has no valid name or value here; write `NAME: value` with printable ASCII"},
		"window":              {"vendors: {openai: {context_window: 8k}}", `c:1:36: vendors.openai.context_window is "8k"; write a whole number from 1 to 2147483647, or leave it out for the default`},
		"model":               {"model: {temperature: hot}", `c:1:22: model.temperature is "hot"; write a number from 0 on, such as 0.2, or leave it out for the vendor's default`},
		"spending":            {"spending: 5", "c:1:11: spending is no mapping; write `spending: {key: value}`"},
		"an alias":            {"model: &a x\nspending: {a: *a}", "c:1:8: the file has an anchor or an alias, which is not read here; write the value out"},
		"all at once":         {"modle: x\nspending: 5", "c:1:1: unknown key \"modle\"; did you mean \"model\"?\nc:2:11: spending is no mapping; write `spending: {key: value}`"},
	} {
		_, err := config.Parse("c", []byte(c.text), known())
		require.Error(t, err, name)
		if name != "no YAML" {
			assert.EqualError(t, err, c.want, name)
		}
		assert.True(t, strings.HasPrefix(err.Error(), "c:"), name)
		assert.NotContains(t, err.Error(), canary)
		assert.NotContains(t, err.Error(), "hunter22")
	}
}

// TestLoad: a file that others can write is not believed, and none is as good as an empty one.
func TestLoad(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	for _, none := range []string{"", file} {
		c, err := config.Load(none, known())
		require.NoError(t, err)
		assert.Zero(t, c)
	}
	require.NoError(t, os.WriteFile(file, []byte(whole), 0o644))
	c, err := config.Load(file, known())
	require.NoError(t, err)
	assert.Equal(t, "openai:small", c.Model.Name)
	for _, mode := range []os.FileMode{0o646, 0o664, 0o666} {
		require.NoError(t, os.Chmod(file, mode))
		_, err = config.Load(file, known())
		assert.ErrorContains(t, err, file+": belongs to another user, or others can write it (mode 06")
	}
}

// TestAProjectSetsNothingButSpending: neither keys, commands, addresses nor the model.
func TestAProjectSetsNothingButSpending(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	c, err := config.LoadProject(file, dir)
	require.NoError(t, err)
	assert.Zero(t, c)
	require.NoError(t, os.WriteFile(file, []byte("spending: {day: 1}\n"), 0o644))
	c, err = config.LoadProject(file, dir)
	require.NoError(t, err)
	assert.Equal(t, message.JSON(`{"day":1}`), c.Spending)
	require.NoError(t, os.WriteFile(file, []byte(whole), 0o644))
	_, err = config.LoadProject(file, dir)
	assert.EqualError(t, err, file+":1:8: a project cannot set this: its file has spending only; write it in ~/.grapnel/config.yaml\n"+
		file+":3:3: a project cannot set this: its file has spending only; write it in ~/.grapnel/config.yaml")

	out := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(out, []byte("spending: {day: 1}\n"), 0o644))
	link := filepath.Join(dir, "link.yaml")
	require.NoError(t, os.Symlink(out, link))
	_, err = config.LoadProject(link, dir)
	assert.ErrorContains(t, err, "leads through a link out of "+dir)
}

func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Add("vendors: {openai: {key: {command: [a]}, headers: {A: b}}}")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Parse("c", []byte(text), known())
		if err != nil {
			assert.Zero(t, c)
			assert.True(t, strings.HasPrefix(err.Error(), "c:"), err.Error())
			return
		}
		for name, v := range c.Vendors {
			assert.True(t, v.Preset != "" || name == "openai" || name == "ollama" || name == "vllm")
		}
		if c.Spending != "" {
			assert.True(t, json.Valid([]byte(c.Spending)), string(c.Spending))
		}
	})
}
