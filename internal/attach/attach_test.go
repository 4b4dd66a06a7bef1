package attach_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/attach"
)

// The beginnings of files, by which their formats are told (WHATWG MIME sniffing, section 6).
const (
	png  = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
	jpeg = "\xff\xd8\xff\xe0\x00\x10JFIF"
	gif  = "GIF89a\x01\x00\x01\x00"
	webp = "RIFF\x24\x00\x00\x00WEBPVP8 "
	pdf  = "%PDF-1.7\n"
	wav  = "RIFF\x24\x00\x00\x00WAVEfmt "
	mp3  = "ID3\x04\x00\x00"
	raw  = "\xff\xfb\x90\x64\x00"
)

func TestBlock(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		data, mime string
		kind       message.BlockKind
	}{
		"a.png": {png, "image/png", message.BlockImage}, "a.jpg": {jpeg, "image/jpeg", message.BlockImage}, "a.gif": {gif, "image/gif", message.BlockImage},
		"a.webp": {webp, "image/webp", message.BlockImage}, "a.pdf": {pdf, "application/pdf", message.BlockDocument},
		"a.wav": {wav, "audio/wav", message.BlockAudio}, "a.mp3": {mp3, "audio/mpeg", message.BlockAudio}, "b.mp3": {raw, "audio/mpeg", message.BlockAudio},
		"named.txt": {png, "image/png", message.BlockImage}, // the bytes count
	} {
		b, err := attach.Block("dir/"+name, []byte(tt.data))
		require.NoError(t, err, name)
		assert.Equal(t, message.Block{Kind: tt.kind, MIME: tt.mime, Name: name, Data: base64.StdEncoding.EncodeToString([]byte(tt.data))}, b)
	}
	b, err := attach.Block("/x/notes.md", []byte("# Notes\n"))
	require.NoError(t, err)
	assert.Equal(t, message.Block{Kind: message.BlockText, Name: "notes.md", Text: "The file notes.md:\n\n# Notes\n"}, b)
	hostile, err := attach.Block("a\n\x1b[2J\u009b\u202eb.txt", []byte("x"))
	require.NoError(t, err)
	assert.Equal(t, "The file a__[2J__b.txt:\n\nx", hostile.Text)
	for text, want := range map[string]string{
		"": "is empty", "\x7fELF\x02\x00": "neither text nor", "a\x00b": "neither text nor",
		strings.Repeat("x", attach.MaxText+1): "tell the agent to read the file", png + strings.Repeat("x", attach.MaxFile): "at most",
	} {
		_, err := attach.Block("f", []byte(text))
		require.ErrorContains(t, err, want)
	}
}

func TestMentioned(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.txt")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	for name, data := range map[string]string{"plan.pdf": pdf, "sub/a b.png": png, "notes.md": "notes", "none.bin": "a\x00b"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(data), 0o600))
	}
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "link.txt")))
	for text, want := range map[string][]string{
		"no file": nil, "@": nil, `@"`: nil, "@gone.md": nil, "mail a@notes.md": nil, "@sub": nil,
		"What is in @plan.pdf?":                 {"plan.pdf"},
		"@notes.md and (@plan.pdf), @notes.md.": {"notes.md", "plan.pdf"},
		`see @"sub/a b.png"`:                    {"sub/a b.png"},
		"@" + outside:                           nil,
		"@../" + filepath.Base(outside):         nil,
	} {
		files, paths, err := attach.Mentioned(root, text)
		require.NoError(t, err, text)
		assert.Equal(t, want, paths, text)
		assert.Len(t, files, len(want), text)
	}
	_, _, err := attach.Mentioned(root, "@link.txt")
	require.ErrorContains(t, err, "link", "a link does not lead out of the project")
	assert.NotContains(t, err.Error(), "secret\"")
	_, _, err = attach.Mentioned(root, "@none.bin")
	require.ErrorContains(t, err, "without the @")
	var many strings.Builder
	for i := range attach.MaxFiles + 1 {
		name := "f" + strings.Repeat("x", i)
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte("x"), 0o600))
		many.WriteString("@" + name + " ")
	}
	_, _, err = attach.Mentioned(root, many.String())
	require.ErrorContains(t, err, "more than 20 files")
}

func TestInput(t *testing.T) {
	t.Parallel()
	assert.Equal(t, message.TextInput("hi"), attach.Input("hi", nil))
	b, err := attach.Block("a.png", []byte(png))
	require.NoError(t, err)
	in := attach.Input("see", []message.Block{b})
	require.Equal(t, 1, in.Messages.Len())
	assert.Equal(t, []message.Block{message.TextBlock("see"), b}, in.Messages.At(0).Content.Slice())
}
