package provider

import "strings"

const (
	// firstSegment is the size from which a text is kept in segments that do not move.
	// lastSegment is the size of the largest segment. Both are in bytes.
	firstSegment = 64 << 10
	lastSegment  = 1 << 20
)

// pieces joins the pieces of one text. A text of one piece is not copied. A long one
// is kept in segments, so that its growth leaves no garbage.
type pieces struct {
	// first is the first piece, while it is the only one.
	first string
	// full are the segments before buf.
	full [][]byte
	buf  []byte
}

func (p *pieces) add(piece string) {
	switch {
	case piece == "":
	case p.first == "" && len(p.buf) == 0 && p.full == nil:
		p.first = piece
	default:
		if p.first != "" {
			p.write(p.first)
			p.first = ""
		}
		p.write(piece)
	}
}

func (p *pieces) write(piece string) {
	if len(p.buf)+len(piece) > cap(p.buf) && cap(p.buf) >= firstSegment {
		p.full = append(p.full, p.buf)
		p.buf = make([]byte, 0, max(len(piece), min(2*cap(p.buf), lastSegment)))
	}
	p.buf = append(p.buf, piece...)
}

// take returns the text and makes p ready for another one.
func (p *pieces) take() string {
	if p.full == nil {
		text := p.first
		if len(p.buf) > 0 {
			text = string(p.buf)
		}
		p.first, p.buf = "", p.buf[:0]
		return text
	}
	size := len(p.buf)
	for _, segment := range p.full {
		size += len(segment)
	}
	var text strings.Builder
	text.Grow(size)
	for _, segment := range p.full {
		text.Write(segment)
	}
	text.Write(p.buf)
	*p = pieces{}
	return text.String()
}
