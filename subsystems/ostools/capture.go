package ostools

import (
	"fmt"
	"strings"
)

// capture keeps the beginning and the end of an output of any length. One goroutine at a
// time may use it.
type capture struct {
	head []byte
	// tail is a ring: the byte after at is the oldest once it is full.
	tail []byte
	at   int
	max  int
	// total counts the bytes that were written.
	total int64
}

func newCapture(head, tail int) *capture {
	return &capture{head: make([]byte, 0, head), max: tail}
}

// Write never fails.
func (c *capture) Write(p []byte) (int, error) {
	n := len(p)
	c.total += int64(n)
	if room := cap(c.head) - len(c.head); room > 0 {
		k := min(room, len(p))
		c.head = append(c.head, p[:k]...)
		p = p[k:]
	}
	c.keep(p)
	return n, nil
}

func (c *capture) keep(p []byte) {
	if c.max == 0 {
		return
	}
	if len(p) >= c.max {
		c.tail = append(c.tail[:0], p[len(p)-c.max:]...)
		c.at = 0
		return
	}
	if room := c.max - len(c.tail); room > 0 {
		k := min(room, len(p))
		c.tail = append(c.tail, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(c.tail[c.at:], p)
		c.at = (c.at + k) % c.max
		p = p[k:]
	}
}

// cut reports whether the middle is missing.
func (c *capture) cut() bool { return c.total > int64(len(c.head)+len(c.tail)) }

// String returns the kept parts as UTF-8, cut at the borders of runes, with a mark for a
// missing middle.
func (c *capture) String() string {
	tail := append(c.tail[c.at:len(c.tail):len(c.tail)], c.tail[:c.at]...)
	if !c.cut() {
		s, _ := valid(append(c.head[:len(c.head):len(c.head)], tail...))
		return s
	}
	head := c.head
	if n := len(head); n > 0 {
		head = head[:lastRune(head)]
	}
	tail = tail[min(runeStart(tail, 0), len(tail)):]
	before, _ := valid(head)
	after, _ := valid(tail)
	missing := c.total - int64(len(head)+len(tail))
	var sb strings.Builder
	fmt.Fprintf(&sb, "%s\n[… %d bytes left out …]\n%s", before, missing, after)
	return sb.String()
}
