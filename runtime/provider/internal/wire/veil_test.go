package wire_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// each returns the text with every byte written in the form.
func each(form, text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, form, c)
	}
	return b.String()
}

// TestASecretIsHiddenHoweverItIsWritten: gateways put the headers of a request into errors, as
// JSON in JSON, as HTML, in an address, or as they came.
func TestASecretIsHiddenHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	const key = "sk-canary/0123+456789=abc"
	s, err := wire.NewServer(wire.Config{
		Vendor: "acme", BaseURL: "http://user-9:password-9@127.0.0.1/v1", Key: key, Network: provider.Network{Header: http.Header{"X-Team": {"blue-secret-1"}}},
	})
	require.NoError(t, err)
	basic := base64.StdEncoding.EncodeToString([]byte("user-9:password-9"))
	for name, text := range map[string]string{
		"plain": key, "header": "blue-secret-1", "address": url.QueryEscape(key), "path": url.PathEscape(key), "all of an address": each("%%%02x", key),
		"JSON of PHP": strings.ReplaceAll(key, "/", `\/`), "JSON of .NET": strings.ReplaceAll(key, "+", `\u002B`),
		"escaped": each(`\u%04x`, key), "escaped bytes": each(`\x%02x`, key), "HTML": each("&#%d;", key), "HTML with hex digits": each("&#x%x;", key),
		"hex": hex.EncodeToString([]byte(key)), "HEX": each("%02X", key),
		"base64": base64.StdEncoding.EncodeToString([]byte(key)), "base64 for addresses": base64.RawURLEncoding.EncodeToString([]byte(key)),
		"base64 behind a byte": base64.StdEncoding.EncodeToString([]byte("x" + key + " more")), "base64 behind two": base64.StdEncoding.EncodeToString([]byte("xy" + key + " more")),
		"basic": basic,
	} {
		shown := s.Shown(&provider.ServerError{Status: 400, Message: "before " + text + " behind"}).Error()
		assert.Contains(t, shown, "[hidden]", name)
		assert.NotContains(t, shown, text, name)
		assert.Contains(t, shown, "before ", name)
		assert.Contains(t, shown, " behind", name)
		raw := s.Broken("an event is wrong", []byte(`{"of":"`+text+`"}`)).Error()
		assert.Contains(t, raw, "[hidden]", name)
	}
	for _, text := range []string{"100% of &#115;", `a \u0073 and \`, "c2st", "%73%6", "&#x", `\x7`} {
		assert.Contains(t, s.Shown(&provider.ServerError{Message: text}).Error(), text, "what is no secret stays")
	}
}
