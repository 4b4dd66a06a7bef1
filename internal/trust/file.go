package trust

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/internal/lockedfile"
)

// approved is what a person has allowed under one key of the trust file.
type approved struct {
	// Digest covers every value that has an effect.
	Digest string `json:"digest"`
	// Lines are what the question showed, to show the difference later. Secrets are
	// in none of them.
	Lines []string `json:"lines,omitempty"`
}

// UnmarshalJSON also reads the digest alone: files once had nothing else.
func (a *approved) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &a.Digest)
	}
	type plain approved
	return json.Unmarshal(data, (*plain)(a))
}

// File remembers what a person has allowed for good. It is safe for concurrent use, also by
// several processes.
type File struct {
	// Path is the file; there need not be one yet.
	Path string
}

// Confirm returns the answer to a request: what was allowed under the key before, if digest is
// still the same, else what ask says, which it remembers if that is Always. digest covers all
// that has an effect, shown or not. Nil asks nobody: the answer is No.
func (f File) Confirm(ctx context.Context, ask Ask, r Request, key, digest string) (Answer, error) {
	known, err := f.read()
	if err != nil {
		return No, err
	}
	before, again := known[key]
	if again && before.Digest == digest {
		return Always, nil
	}
	if ask == nil {
		return No, nil
	}
	if again {
		r.Changes = changes(before.Lines, r.Lines())
	}
	answer, err := ask(ctx, r)
	if err != nil || answer != Always {
		return answer, err
	}
	return Always, f.write(key, approved{Digest: digest, Lines: r.Lines()})
}

// changes are the lines that are gone, behind "- ", and those that are new, behind
// "+ ". It is never empty.
func changes(before, now []string) []string {
	var out []string
	without := func(mark string, lines, others []string) {
		rest := slices.Clone(others)
		for _, line := range lines {
			if i := slices.Index(rest, line); i >= 0 {
				rest = slices.Delete(rest, i, i+1)
				continue
			}
			out = append(out, mark+line)
		}
	}
	without("- ", before, now)
	without("+ ", now, before)
	switch {
	case len(before) == 0:
		return []string{"what was allowed before is not known in detail; all of it is shown above"}
	case len(out) == 0:
		return []string{"the order, or a value that is not shown, is another one"}
	}
	return out
}

func (f File) file() lockedfile.File[approved] { return lockedfile.File[approved]{Path: f.Path} }

func (f File) read() (map[string]approved, error) {
	known, err := f.file().Read()
	if err != nil {
		return nil, fmt.Errorf("%w; delete the file to be asked again", err)
	}
	return known, nil
}

// write adds one approval to the file. Another process may have written since, while a person was
// asked.
func (f File) write(key string, a approved) error {
	err := f.file().Change(func(known map[string]approved) error {
		known[key] = a
		return nil
	})
	if err != nil {
		return fmt.Errorf("remember the answer: %w", err)
	}
	return nil
}
