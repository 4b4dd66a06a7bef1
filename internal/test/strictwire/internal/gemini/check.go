package gemini

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

const (
	maxName = 64
	prefix  = "/v1beta/models/"
	method  = ":streamGenerateContent"
)

func route(c *wire.Check, r *http.Request) {
	name, ok := strings.CutPrefix(r.URL.Path, prefix)
	c.Model, _ = strings.CutSuffix(name, method)
	if r.Method != http.MethodPost || !ok || c.Model == name || c.Model == "" {
		c.Refuse("path", "", "models/%s is not found for API version v1beta, or is not supported for generateContent.", c.Model)
	}
	if r.URL.Query().Get("alt") != "sse" {
		c.Refuse("alt", "", "this server streams server-sent events only: alt=sse")
	}
	if r.Header.Get("X-Goog-Api-Key") == "" && r.URL.Query().Get("key") == "" {
		c.Refuse("auth", "", "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.")
	}
}

func fault(c *wire.Check, what string) {
	c.Refuse("json", "", "Invalid JSON payload received. %s", what)
}

// unknown refuses members that a message of the API does not have. at is the place, "" the
// request itself.
func unknown(c *wire.Check, rule, at string, n wire.Node, names string) {
	for i := range n.List {
		key := n.List[i].Key
		if wire.Among(names, key) {
			continue
		}
		where := ""
		if at != "" {
			where = " at '" + at + "'"
		}
		c.Refuse(rule, "", "Invalid JSON payload received. Unknown name \"%s\"%s: Cannot find field.", key, where)
	}
}

func check(c *wire.Check, root wire.Node) {
	unknown(c, "unknown", "", root, "contents tools toolConfig safetySettings systemInstruction generationConfig cachedContent serviceTier store model labels")
	if system := root.Get("systemInstruction"); system.Kind != wire.None {
		unknown(c, "unknown", "system_instruction", system, "role parts")
		for i, p := range system.Get("parts").List {
			if p.Get("text").Text == "" {
				c.Refuse("system", "", "* GenerateContentRequest.system_instruction.parts[%d].data: required oneof field 'data' must have one initialized field\n", i)
			}
		}
	}
	major, minor := wire.Version(c.Model, "gemini-")
	names := tools(c, root.Get("tools"))
	toolConfig(c, root.Get("toolConfig"), names)
	config(c, root.Get("generationConfig"), major, minor)
	history{Check: c, signs: major >= 3}.check(root.Get("contents"))
}

const configMembers = "stopSequences responseMimeType responseSchema responseJsonSchema responseModalities candidateCount maxOutputTokens " +
	"temperature topP topK seed presencePenalty frequencyPenalty responseLogprobs logprobs speechConfig thinkingConfig mediaResolution imageConfig " +
	"enableEnhancedCivicAnswers responseFormat translationConfig audioTranscriptionConfig"

func config(c *wire.Check, config wire.Node, major, minor int) {
	unknown(c, "unknown", "generation_config", config, configMembers)
	if n := config.Get("maxOutputTokens"); n.Kind != wire.None && n.Int() < 1 {
		c.Refuse("max-tokens", "", "* GenerateContentRequest.generation_config.max_output_tokens: max_output_tokens must be positive.\n")
	}
	mime := config.Get("responseMimeType").Text
	if (config.Get("responseSchema").Kind != wire.None || config.Get("responseJsonSchema").Kind != wire.None) && mime != "application/json" && mime != "text/x.enum" {
		c.Refuse("format-schema", "", "* GenerateContentRequest.generation_config.response_schema: only allowed when response_mime_type is application/json or text/x.enum.\n")
	}
	t := config.Get("thinkingConfig")
	unknown(c, "unknown", "generation_config.thinking_config", t, "includeThoughts thinkingBudget thinkingLevel")
	budget, level := t.Get("thinkingBudget"), t.Get("thinkingLevel")
	switch pro := strings.Contains(c.Model, "-pro"); {
	case budget.Kind != wire.None && level.Kind != wire.None:
		c.Refuse("thinking-both", "", "You can only set only one of thinking budget and thinking level.")
	case level.Kind != wire.None && major > 0 && major < 3:
		c.Refuse("thinking-level", "", "Thinking level is not supported for this model.")
	case budget.Text == "0" && pro && wire.From(major, minor, 2, 5):
		c.Refuse("thinking-off", "", "Budget 0 is invalid. This model only works in thinking mode.")
	}
}

func toolConfig(c *wire.Check, config wire.Node, names []string) {
	unknown(c, "unknown", "tool_config", config, "functionCallingConfig retrievalConfig includeServerSideToolInvocations")
	calling := config.Get("functionCallingConfig")
	unknown(c, "unknown", "tool_config.function_calling_config", calling, "mode allowedFunctionNames")
	mode := calling.Get("mode").Text
	for _, n := range calling.Get("allowedFunctionNames").List {
		switch {
		case mode != "ANY" && mode != "VALIDATED":
			c.Refuse("allowed", "", "Allowed function names should only be set when the mode is ANY or VALIDATED.")
		case !slices.Contains(names, n.Text):
			c.Refuse("allowed", "", "Allowed function name %q is not among the function declarations.", n.Text)
		}
	}
}

func tools(c *wire.Check, tools wire.Node) (names []string) {
	for i, t := range tools.List {
		unknown(c, "unknown", fmt.Sprintf("tools[%d]", i), t, "functionDeclarations googleSearch codeExecution urlContext googleSearchRetrieval computerUse fileSearch googleMaps mcpServers")
		for j, f := range t.Get("functionDeclarations").List {
			at := fmt.Sprintf("tools[%d].function_declarations[%d]", i, j)
			unknown(c, "unknown", at, f, "name description parameters parametersJsonSchema response responseJsonSchema behavior")
			name := f.Get("name").Text
			if !nameOK(name) {
				c.Refuse("tool-name", "", "* GenerateContentRequest.%s.name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), "+
					"underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.\n", at)
			}
			if slices.Contains(names, name) {
				c.Refuse("tool-unique", "", "Duplicate function declaration found: %s", name)
			}
			names = append(names, name)
			declared(c, at, f)
		}
	}
	return names
}

func nameOK(s string) bool {
	for i := range len(s) {
		switch b := s[i]; {
		case b|0x20 >= 'a' && b|0x20 <= 'z', b == '_':
		case i > 0 && (b >= '0' && b <= '9' || b == '.' || b == ':' || b == '-'):
		default:
			return false
		}
	}
	return s != "" && len(s) <= maxName
}

func declared(c *wire.Check, at string, f wire.Node) {
	old, schema := f.Get("parameters"), f.Get("parametersJsonSchema")
	if old.Kind != wire.None && schema.Kind != wire.None {
		c.Refuse("schema-both", "", "* GenerateContentRequest.%s: parameters and parameters_json_schema must not be set both.\n", at)
	}
	if old.Kind != wire.None {
		parameters(c, at+".parameters", at+".parameters", old)
	}
	if schema.Kind != wire.None && !schema.Get("type").Is("object") {
		c.Refuse("schema-type", "", "* GenerateContentRequest.%s.parameters_json_schema: the schema must be of type object.\n", at)
	}
}

const schemaMembers = "anyOf default description enum example format items maxItems maxLength maxProperties maximum minItems minLength " +
	"minProperties minimum nullable pattern properties propertyOrdering required title type"

// parameters checks a schema of the API's own kind. at is its place as the parser names it,
// and path as the validator does.
func parameters(c *wire.Check, at, path string, s wire.Node) {
	unknown(c, "schema-name", at, s, schemaMembers)
	kind := s.Get("type")
	if kind.Kind == wire.Array {
		c.Refuse("schema-type-list", "", "Invalid JSON payload received. Unknown name \"type\" at '%s': Proto field is not repeating, cannot start list.", at)
	}
	properties := s.Get("properties")
	switch upper := strings.ToUpper(kind.Text); {
	case upper == "OBJECT" && len(properties.List) == 0:
		c.Refuse("schema-empty", "", "* GenerateContentRequest.%s.properties: should be non-empty for OBJECT type\n", path)
	case upper == "ARRAY" && s.Get("items").Kind == wire.None:
		c.Refuse("schema-items", "", "* GenerateContentRequest.%s.items: missing field.\n", path)
	}
	for i, r := range s.Get("required").List {
		if properties.Get(r.Text).Kind == wire.None {
			c.Refuse("schema-required", "", "* GenerateContentRequest.%s.required[%d]: property is not defined\n", path, i)
		}
	}
	for i, p := range properties.List {
		parameters(c, fmt.Sprintf("%s.properties[%d].value", at, i), fmt.Sprintf("%s.properties[%s]", path, p.Key), p)
	}
	if items := s.Get("items"); items.Kind == wire.Object {
		parameters(c, at+".items", path+".items", items)
	}
	for i, one := range s.Get("anyOf").List {
		parameters(c, fmt.Sprintf("%s.any_of[%d]", at, i), fmt.Sprintf("%s.any_of[%d]", path, i), one)
	}
}

func isBase64(s string) bool {
	_, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		_, err = base64.URLEncoding.DecodeString(s)
	}
	return err == nil
}

func body(r *wire.Refusal) string {
	if r.Type == "" {
		r.Type = "INVALID_ARGUMENT"
	}
	return failure(r.Status, r.Type, r.Message, nil)
}

func failure(status int, kind, text string, details []any) string {
	e := wire.M{"code": status, "message": text, "status": kind}
	if details != nil {
		e["details"] = details
	}
	return wire.JSON(wire.M{"error": e})
}
