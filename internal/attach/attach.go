// Package attach makes blocks of files that people give to a model: images, PDFs, audio and
// text. What a file is follows from its bytes, never from its name.
package attach

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/conffile"
)

const (
	// MaxFile bounds one file, in bytes. Vendors refuse larger ones.
	MaxFile = 16 << 20
	// MaxText bounds a file of text, in bytes: all of it is in every request that follows.
	MaxText = 256 << 10
	// MaxFiles bounds the files of one message.
	MaxFiles = 20
	// maxName bounds the name of a file that a model is shown, in bytes.
	maxName = 200
)

// Block returns the block of a file with that name and content. The error says what is wrong,
// and what to do.
func Block(name string, data []byte) (message.Block, error) {
	name = shown(name)
	if len(data) == 0 {
		return message.Block{}, fmt.Errorf("%s is empty", name)
	}
	if len(data) > MaxFile {
		return message.Block{}, fmt.Errorf("%s has %d bytes; a file that is attached has at most %d", name, len(data), MaxFile)
	}
	kind, mime := kindOf(data)
	switch {
	case kind != "":
		return message.Block{Kind: kind, MIME: mime, Name: name, Data: base64.StdEncoding.EncodeToString(data)}, nil
	case !utf8.Valid(data) || strings.ContainsRune(string(data), 0):
		return message.Block{}, fmt.Errorf("%s is neither text nor an image (PNG, JPEG, GIF, WebP), a PDF or audio (WAV, MP3)", name)
	case len(data) > MaxText:
		return message.Block{}, fmt.Errorf("%s has %d bytes of text; at most %d can be attached: tell the agent to read the file instead", name, len(data), MaxText)
	}
	return message.Block{Kind: message.BlockText, Name: name, Text: "The file " + name + ":\n\n" + string(data)}, nil
}

// kindOf returns the kind and media type of the media in data; "" for anything else.
func kindOf(data []byte) (kind message.BlockKind, mime string) {
	switch mime = http.DetectContentType(data); mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return message.BlockImage, mime
	case "application/pdf":
		return message.BlockDocument, mime
	case "audio/wave":
		return message.BlockAudio, "audio/wav"
	case "audio/mpeg":
		return message.BlockAudio, mime
	}
	if len(data) > 2 && data[0] == 0xFF && data[1]&0xE6 == 0xE2 { // a frame of MP3 without a tag before it
		return message.BlockAudio, "audio/mpeg"
	}
	return "", ""
}

// shown returns the last element of the path as text of one line.
func shown(path string) string {
	name := filepath.Base(path)
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError { // nobody sees them, or they turn the line round
			return '_'
		}
		return r
	}, name)
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "")
	}
	return name
}

// Read returns the content of a file that the user names, and its block.
func Read(path string) ([]byte, message.Block, error) {
	data, err := conffile.Read(path, &conffile.Options{Max: MaxFile, Binary: true})
	if err != nil {
		return nil, message.Block{}, err
	}
	b, err := Block(path, data)
	return data, b, err
}

// Input returns a message of the text, with the blocks of the files behind it.
func Input(text string, files []message.Block) message.Input {
	if len(files) == 0 {
		return message.TextInput(text)
	}
	m := message.UserText(text)
	m.Content = m.Content.Append(files...)
	return message.Input{Messages: message.ListOf(m)}
}

// File is a file that a text mentions.
type File struct {
	// Name is the last element of its path, as text of one line, and Data its content.
	Name string
	Data []byte
	// Block is what a model gets of it.
	Block message.Block
}

// Mentioned returns the files of the project in root that the text mentions as
// @path, each once, with their paths. Only a path that exists counts: anything else behind an
// @ is text. Files outside of the project are not read, because a text that somebody pastes
// may name them.
func Mentioned(root, text string) (files []File, paths []string, err error) {
	seen := map[string]bool{}
	for _, path := range mentions(text) {
		if seen[path] || !isFile(root, path) {
			continue
		}
		seen[path] = true
		if len(files) == MaxFiles {
			return nil, nil, fmt.Errorf("the message mentions more than %d files", MaxFiles)
		}
		data, err := conffile.Read(filepath.Join(root, path), &conffile.Options{Within: root, Max: MaxFile, Binary: true})
		if err != nil {
			return nil, nil, fmt.Errorf("@%s: %w; write it without the @ to send only its name", path, err)
		}
		b, err := Block(path, data)
		if err != nil {
			return nil, nil, fmt.Errorf("@%s: %w; write it without the @ to send only its name", path, err)
		}
		files, paths = append(files, File{shown(path), data, b}), append(paths, path)
	}
	return files, paths, nil
}

// isFile reports whether the project has a regular file there.
func isFile(root, path string) bool {
	if !filepath.IsLocal(path) {
		return false
	}
	info, err := os.Stat(filepath.Join(root, path))
	return err == nil && info.Mode().IsRegular()
}

// mentions returns the words of the text behind an @ at their beginning: up to a blank, or to
// the quote that ends @"a path". Punctuation at the end is no part of a path.
func mentions(text string) []string {
	var out []string
	for i := 0; i < len(text); i++ {
		if text[i] != '@' || i > 0 && !strings.ContainsRune(" \t\r\n(", rune(text[i-1])) {
			continue
		}
		rest := text[i+1:]
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			if end := strings.IndexByte(quoted, '"'); end > 0 {
				out = append(out, quoted[:end])
			}
			continue
		}
		if end := strings.IndexAny(rest, " \t\r\n"); end >= 0 {
			rest = rest[:end]
		}
		if path := strings.TrimRight(rest, ".,;:!?)"); path != "" {
			out = append(out, path)
		}
	}
	return out
}
