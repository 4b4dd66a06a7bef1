package openai

import (
	"errors"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// Preset is what one vendor's server needs of Options, as data.
type Preset struct {
	// Name is the vendor's: the prefix of model ids in the program.
	Name string
	// BaseURL is the server's address; "" if every customer has an own one.
	BaseURL string
	// Env is the prefix of variables: FromEnv lists them.
	Env string
	// KeyName is the variable of the key. NeedsKey: the server answers nobody without one.
	KeyName  string
	NeedsKey bool
	// KeyHeader, MaxTokensKey, ReasoningKey, NoUsage and Wire are those of Options.
	KeyHeader, MaxTokensKey, ReasoningKey string
	NoUsage                               bool
	Wire                                  Wire
	// Port is the usual port on loopback; 0 for servers elsewhere.
	Port int
}

// Presets returns the presets that the package knows: OpenAI's first, then sorted by name.
func Presets() []Preset {
	return []Preset{
		{Name: "openai", BaseURL: DefaultBaseURL, Env: "OPENAI", KeyName: "OPENAI_API_KEY", NeedsKey: true},
		{Name: "azure", Env: "AZURE_OPENAI", KeyName: "AZURE_OPENAI_API_KEY", NeedsKey: true, KeyHeader: "Api-Key", MaxTokensKey: "max_completion_tokens"},
		{Name: "llamacpp", BaseURL: "http://127.0.0.1:8080/v1", Env: "LLAMACPP", KeyName: "LLAMACPP_API_KEY", Wire: WireChat,
			MaxTokensKey: "max_tokens", ReasoningKey: "reasoning_content", Port: 8080},
		{Name: "lmstudio", BaseURL: "http://127.0.0.1:1234/v1", Env: "LMSTUDIO", KeyName: "LMSTUDIO_API_KEY", Wire: WireChat, MaxTokensKey: "max_tokens", Port: 1234},
		{Name: "ollama", BaseURL: "http://127.0.0.1:11434/v1", Env: "OLLAMA", KeyName: "OLLAMA_API_KEY", Wire: WireChat,
			MaxTokensKey: "max_tokens", ReasoningKey: "reasoning", Port: 11434},
		{Name: "openrouter", BaseURL: "https://openrouter.ai/api/v1", Env: "OPENROUTER", KeyName: "OPENROUTER_API_KEY", NeedsKey: true, Wire: WireChat,
			MaxTokensKey: "max_tokens", ReasoningKey: "reasoning"},
		{Name: "vllm", BaseURL: "http://127.0.0.1:8000/v1", Env: "VLLM", KeyName: "VLLM_API_KEY", Wire: WireChat, MaxTokensKey: "max_tokens", Port: 8000},
	}
}

// PresetOf returns the preset of a vendor; false if there is none.
func PresetOf(name string) (Preset, bool) {
	all := Presets()
	i := slices.IndexFunc(all, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		return Preset{}, false
	}
	return all[i], true
}

// URLName is the variable of the base URL.
func (p Preset) URLName() string { return p.Env + "_BASE_URL" }

// FromEnv returns options with Vendor, APIKey from the variable KeyName, and what these
// variables say, each behind the prefix Env: BaseURL from _BASE_URL, FirstByteTimeout and
// IdleTimeout, such as 90s, from _FIRST_BYTE_TIMEOUT and _IDLE_TIMEOUT, and ContextWindow
// from _CONTEXT_WINDOW. Pass os.Getenv as getenv. The provider's Err tells what cannot be
// read.
func (p Preset) FromEnv(getenv func(string) string) *Options {
	env := wire.Env{Vendor: p.Name, Prefix: p.Env, Getenv: getenv}
	o := &Options{Vendor: p.Name, APIKey: strings.TrimSpace(getenv(p.KeyName)), BaseURL: env.Text("BASE_URL")}
	var first, idle, window error
	o.FirstByteTimeout, first = env.Duration("FIRST_BYTE_TIMEOUT")
	o.IdleTimeout, idle = env.Duration("IDLE_TIMEOUT")
	o.ContextWindow, window = env.Tokens("CONTEXT_WINDOW")
	o.err = errors.Join(first, idle, window)
	return o
}
