package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"sync"
)

// Signer signs reasoning and checks what comes back. A signature covers the vendor, the
// model, the kind and the text. It is safe for concurrent use.
type Signer struct {
	Key    []byte
	Vendor string
}

func (s *Signer) mac(model, kind, text string) []byte {
	h := hmac.New(sha256.New, s.Key)
	for _, part := range []string{s.Vendor, model, kind, text} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	return h.Sum(nil)
}

// Sign returns the signature of a text in base64.
func (s *Signer) Sign(model, kind, text string) string {
	return base64.StdEncoding.EncodeToString(s.mac(model, kind, text))
}

// Signed reports whether the signature is that of the text. A nil Signer takes every
// signature that is not empty.
func (s *Signer) Signed(model, kind, text, signature string) bool {
	if s == nil {
		return signature != ""
	}
	got, err := base64.StdEncoding.DecodeString(signature)
	return err == nil && hmac.Equal(got, s.mac(model, kind, text))
}

// Seal returns data that holds the text and its signature.
func (s *Signer) Seal(model, kind, text string) string {
	return base64.StdEncoding.EncodeToString(append(s.mac(model, kind, text), text...))
}

// Sealed reports whether data comes from Seal. A nil Signer takes all data that is not
// empty.
func (s *Signer) Sealed(model, kind, data string) bool {
	if s == nil {
		return data != ""
	}
	got, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(got) < sha256.Size {
		return false
	}
	return hmac.Equal(got[:sha256.Size], s.mac(model, kind, string(got[sha256.Size:])))
}

// Memory is what a server remembers of its answers, to tell whether they come back as they
// were. It forgets the oldest. The zero Memory is ready; it is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	notes map[string]string
	order []string
}

// maxNotes bounds what a Memory holds.
const maxNotes = 10_000

// Note remembers a value by its key.
func (m *Memory) Note(key, value string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.notes == nil {
		m.notes = map[string]string{}
	}
	if _, known := m.notes[key]; !known {
		m.order = append(m.order, key)
	}
	m.notes[key] = value
	if len(m.order) > maxNotes {
		delete(m.notes, m.order[0])
		m.order = m.order[1:]
	}
}

// Noted returns the value of a key; false if there is none. A nil Memory has none.
func (m *Memory) Noted(key string) (string, bool) {
	if m == nil {
		return "", false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.notes[key]
	return value, ok
}

// Digest returns a short name of a text.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}
