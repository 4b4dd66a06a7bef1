package sensitive

import (
	"bytes"
	"io"
)

// Writer masks what is written to it, and writes it on. It withholds a line until it is whole, at most 74 KiB of it; Close
// writes the rest. What comes out does not depend on how the text is cut, and is that of [Detector.Mask]. It is not safe for
// concurrent use.
type Writer struct {
	d  *Detector
	to io.Writer

	held []byte // of the line, from line.at on
	skip int    // bytes of held whose marker was written
	line line
	key  keyBlock
	// inKey: the last finding was a line of a private key, whose marker was written.
	inKey bool
}

// NewWriter returns a writer that masks what d finds.
func (d *Detector) NewWriter(to io.Writer) *Writer { return &Writer{d: d, to: to} }

// Write implements io.Writer. It keeps nothing of p.
func (w *Writer) Write(p []byte) (int, error) {
	w.held = append(w.held, p...)
	for {
		end := bytes.IndexByte(w.held[:min(len(w.held), part+longest)], '\n') + 1
		switch {
		case end > 0:
			if err := w.look(end, true); err != nil {
				return 0, err
			}
		case len(w.held) >= part+longest:
			if err := w.look(part+longest, false); err != nil {
				return 0, err
			}
		default:
			return len(p), nil
		}
	}
}

// Close writes the rest. It closes nothing else.
func (w *Writer) Close() error {
	if len(w.held) == 0 {
		return nil
	}
	return w.look(len(w.held), true)
}

// look masks the next part of the line in the first n bytes of held, and writes it.
func (w *Writer) look(n int, over bool) error {
	at := w.line.at
	all := w.line.next(w.d, &w.key, string(w.held[:n]), over)
	done := part
	if over {
		done, w.line = n, line{}
	}
	var out []byte
	pos := w.skip
	for _, f := range all {
		start, end := f.Start-at, f.End-at
		out = append(out, w.held[pos:start]...)
		if goesOn := f.Kind == kindKey && w.inKey && start == 0; !goesOn {
			out = append(out, f.Marker()...)
		}
		pos = end
	}
	w.inKey = over && len(all) > 0 && all[len(all)-1].Kind == kindKey && pos == n
	if pos < done {
		out = append(out, w.held[pos:done]...)
		pos = done
	}
	w.skip = pos - done
	w.held = append(w.held[:0], w.held[done:]...)
	_, err := w.to.Write(out)
	return err
}
