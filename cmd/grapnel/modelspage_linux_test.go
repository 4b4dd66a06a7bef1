package main

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/models"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
)

// vendorSections are the parts of the page about one vendor each, by the name of the vendor.
func vendorSections(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	text := section(t, page(t, modelsPage), "\n## Vendors\n", "\n## ")
	for _, s := range strings.Split(text, "\n### ")[1:] {
		m := regexp.MustCompile(`go run \./examples/models/(\w+)`).FindStringSubmatch(s)
		require.NotNil(t, m, s)
		out[m[1]] = s
	}
	return out
}

// TestModelsPageHasAllVendors, each with a model that the catalog knows where it knows any.
func TestModelsPageHasAllVendors(t *testing.T) {
	t.Parallel()
	sections := vendorSections(t)
	for _, vendor := range models.Names() {
		s, ok := sections[vendor]
		if !assert.True(t, ok, vendor) {
			continue
		}
		m := regexp.MustCompile(`grapnel run --model ` + vendor + `:(\S+) `).FindStringSubmatch(s)
		require.NotNil(t, m, "the command of %s", vendor)
		assert.Contains(t, source(t, "examples/models/"+vendor+"/main.go"), `o.Model = "`+m[1]+`"`)
		assert.LessOrEqual(t, strings.Count(source(t, "examples/models/"+vendor+"/main.go"), "\n"), 30)
		of := vendor
		if vendor == "azure" { // its deployments have OpenAI's models
			of = "openai"
		}
		if known := catalog.Default(); len(known.Models(of)) > 0 {
			_, ok := known.Model(of, m[1])
			assert.True(t, ok, "%s is no model that the catalog knows", m[1])
		}
	}
	assert.Len(t, sections, len(models.Names()))
}

// TestModelsPageCommands runs the commands about each vendor against a strict server.
func TestModelsPageCommands(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	servers := serveVendors(t)
	hosts := map[string]string{
		"anthropic": "api.anthropic.com", "openai": "api.openai.com", "gemini": "generativelanguage.googleapis.com",
		"openrouter": "openrouter.ai", "azure": "example.openai.azure.com",
	}
	for vendor, text := range vendorSections(t) {
		for _, b := range blocks(text) {
			if b.language != "sh" {
				continue
			}
			cmd := exec.CommandContext(t.Context(), "sh", "-euc", b.body)
			cmd.Dir, cmd.Env = root, append(keyless(cleanEnv(t)), servers.env...)
			out, err := cmd.CombinedOutput()
			assert.NoError(t, err, "%s\n%s", b.body, out)
			assert.Equal(t, 2, strings.Count(string(out), "Hello."), "the command and the program say it\n%s", out)
		}
		host, ok := hosts[vendor]
		if !ok {
			host = vendor
		}
		assert.Len(t, servers.byHost[host].Requests(), 2, vendor)
		assert.Empty(t, servers.byHost[host].Rejections(), vendor)
	}
}

// TestModelsPageFiles: what the page shows of files is taken by the program.
func TestModelsPageFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{"yaml": "config.yaml", "json": "models.json"}
	taken := map[string]int{}
	for _, b := range blocks(page(t, modelsPage)) {
		name, ok := files[b.language]
		if !ok {
			continue
		}
		env, dir := consoleEnv(t)
		own := filepath.Join(filepath.Dir(dir), ".grapnel")
		require.NoError(t, os.Mkdir(own, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(own, name), []byte(b.body), 0o600))
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "grapnel models --all")
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, "%s\n%s", b.body, out)
		taken[name]++
	}
	assert.Equal(t, map[string]int{"config.yaml": 5, "models.json": 1}, taken)
}

// keyless is an environment without what a vendor is told by.
func keyless(env []string) (out []string) {
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if !strings.Contains(name, "_API_KEY") && !strings.Contains(name, "_BASE_URL") && !strings.HasSuffix(strings.ToUpper(name), "_PROXY") && !strings.HasPrefix(name, "GRAPNEL_") {
			out = append(out, v)
		}
	}
	return out
}

// TestModelsPageConsole compares what the page shows of a terminal with what is there, but for
// times and numbers. All is done in one project, in the order of the page.
func TestModelsPageConsole(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	text := page(t, modelsPage)
	env, dir := consoleEnv(t)
	shown := 0
	for _, b := range blocks(text) {
		if b.language != "console" {
			continue
		}
		var now strings.Builder
		for line := range strings.Lines(b.body) {
			command, ok := strings.CutPrefix(line, "$ ")
			if !ok {
				continue
			}
			shown++
			cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
			cmd.Dir, cmd.Env = dir, env
			out, _ := cmd.CombinedOutput()
			now.WriteString(line + string(out))
		}
		if *update {
			text = strings.Replace(text, "```console\n"+b.body+"```", "```console\n"+now.String()+"```", 1)
			continue
		}
		assert.Equal(t, numberless(b.body), numberless(now.String()), "if it has changed: go test ./cmd/grapnel -run TestModelsPageConsole -update")
	}
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(root, modelsPage), []byte(text), 0o644))
	}
	assert.Greater(t, shown, 5)
}

// consoleEnv returns the environment of the page's terminal and its project with two files. It
// has the vendors' strict servers, and no server at the usual ports.
func consoleEnv(t *testing.T) (env []string, dir string) {
	t.Helper()
	home := shortDir(t)
	local, err := exec.LookPath("grapnel-local")
	require.NoError(t, err)
	bin := filepath.Join(home, "bin")
	image, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
	require.NoError(t, err)
	for name, data := range map[string]string{
		"bin/grapnel":       "#!/bin/sh\nexec " + local + " \"$@\"\n",
		"project/chart.png": string(image),
		"project/memo.wav":  "RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x00\x00\x00\x00",
	} {
		file := filepath.Join(home, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(data), 0o700))
	}
	env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "GRAPNEL_HOME=" + filepath.Join(home, "state"), "TERM=dumb", "TZ=UTC"}
	return append(env, serveVendors(t).env...), filepath.Join(home, "project")
}

// numberless is a text in which all numbers are the same.
func numberless(text string) string {
	text = regexp.MustCompile(`(<1 ms|\d+ ms|\d+\.\d+ s)`).ReplaceAllString(text, "TIME")
	text = regexp.MustCompile(`#+`).ReplaceAllString(text, "#") // a bar of a share
	text = regexp.MustCompile(`\d+(\.\d+)?`).ReplaceAllString(text, "N")
	return regexp.MustCompile(`[ \t]+`).ReplaceAllString(text, " ")
}
