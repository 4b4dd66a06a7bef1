package quote_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/quote"
)

// standard is the string as encoding/json writes it without escapes for HTML.
func standard(t *testing.T, s string) string {
	t.Helper()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(s))
	return string(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
}

func TestAppendEveryByteAndTheBordersOfRunes(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		s := "a" + string([]byte{byte(b)}) + "z"
		require.Equal(t, standard(t, s), string(quote.Append(nil, s)), "%q", s)
	}
	for _, s := range []string{"", "<a href='x'>&</a>", "\u2027\u2028\u2029\u202a", "\ufffd", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x80", "é\xffü", "😀", "\U0010ffff"} {
		require.Equal(t, standard(t, s), string(quote.Append(nil, s)), "%q", s)
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	require.Equal(t, `{"a":"b\n"`, string(quote.Append([]byte(`{"a":`), "b\n")))
	require.Equal(t, `"b\n`, string(quote.AppendInside([]byte(`"`), "b\n")))
}

func FuzzAppend(f *testing.F) {
	for _, s := range []string{"plain", "\"\\\b\f\n\r\t\x00\x1f\x7f", "\u2028\xffé"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		require.Equal(t, standard(t, s), string(quote.Append(nil, s)))
	})
}
