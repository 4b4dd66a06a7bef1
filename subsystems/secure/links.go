package secure

import (
	"regexp"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// maxHeld bounds how much of a stream is held until the end of an address is known, and maxTail what is remembered of the text before.
const (
	maxHeld = 8192
	maxTail = 400
)

// loads is the end of a text after which an address is fetched as soon as the text is shown: an image, or a definition that one may use.
var loads = regexp.MustCompile(`(?is)(?:!\[.{0,300}\]\(\s*<?|(?:^|\n) {0,3}\[[^\]\n]+\]:\s*<?|<[a-z][^<>]*\b(?:src|srcset|background|poster)\s*=\s*["']?[^"'<>]*|\burl\(\s*["']?)(?:[a-z][a-z0-9+.-]{0,11}:)?$`)

// filter reads the text of a reply and takes addresses out of it. judge returns what stands in the place of an address;
// loaded says that it is fetched when the text is shown.
type filter struct {
	judge func(address string, loaded bool) (instead string, ok bool)
	// held is what was read and not yet written, tail the end of what was read before.
	held, tail string
}

// next reads a piece, and returns what can be shown.
func (f *filter) next(text string) string {
	f.held += text
	return f.flush(false)
}

// end returns the rest.
func (f *filter) end() string {
	return f.flush(true)
}

func (f *filter) flush(last bool) string {
	var out strings.Builder
	write := func(n int) {
		out.WriteString(f.held[:n])
		f.read(n)
	}
	for {
		at := strings.Index(f.held, "//")
		if at < 0 {
			n := len(f.held)
			if !last && strings.HasSuffix(f.held, "/") {
				n--
			}
			write(n)
			return out.String()
		}
		write(at)
		loaded := loads.MatchString(f.tail)
		ends := " \t\r\n\"'<>)]}`|\\"
		if loaded {
			ends = " \t\r\n\"<>)" // who shows the text takes all other signs for a part of the address
		}
		end := strings.IndexAny(f.held, ends)
		switch {
		case end < 0 && !last && len(f.held) < maxHeld:
			return out.String()
		case end < 0:
			end = len(f.held)
		}
		address := f.held[:end]
		if instead, ok := f.judge(scheme(f.tail)+address, loaded && (scheme(f.tail) != "" || strings.Contains(hostOf(address), "."))); ok || end <= 2 {
			write(max(end, 2))
		} else {
			out.WriteString(instead)
			f.read(end)
		}
	}
}

// read moves the first n bytes to the tail.
func (f *filter) read(n int) {
	f.tail += f.held[:n]
	f.tail = f.tail[max(0, len(f.tail)-maxTail):]
	f.held = f.held[n:]
}

var schemeEnd = regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]{0,11}:$`)

func scheme(tail string) string { return schemeEnd.FindString(tail) }

// filtered is the stream with the filter in front of its text.
func filtered(in message.ModelStream, f *filter) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		rest := func() bool {
			text := f.end()
			return text == "" || yield(message.Chunk{Kind: message.ChunkText, Text: text}, nil)
		}
		for c, err := range in {
			switch {
			case err == nil && (c.Kind == message.ChunkReasoning || c.Kind == message.ChunkMeta): // the text goes on behind it
			case err == nil && c.Kind == message.ChunkText:
				if c.Text = f.next(c.Text); c.Text == "" {
					continue
				}
			default:
				if !rest() {
					return
				}
			}
			if !yield(c, err) {
				return
			}
		}
	}
}
