package wire

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"unicode"
)

// veil hides secrets in texts of servers, also as they are written in JSON, HTML, addresses,
// hex and base64.
type veil struct {
	secrets []string
	// encoded are the secrets in hex and base64.
	encoded []string
}

// minSecret is the minimum length of a secret. A shorter value would occur in texts by
// chance.
const minSecret = 6

func newVeil(key string, header http.Header) veil {
	v := veil{}.and(key)
	for name, values := range header {
		if public(name) {
			continue
		}
		for _, value := range values {
			v = v.and(value)
			if _, token, ok := strings.Cut(value, " "); ok {
				v = v.and(token)
			}
		}
	}
	return v
}

// public reports whether a header is known to have no secret.
func public(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Accept", "Content-Type", "User-Agent", "Http-Referer", "Referer", "X-Title",
		"Openai-Organization", "Openai-Project", "Openai-Beta", "Anthropic-Version", "Anthropic-Beta":
		return true
	}
	return false
}

// over adds the secrets that a URL may have.
func (v veil) over(u *url.URL) veil {
	v = v.and(u.User.Username())
	if password, ok := u.User.Password(); ok {
		v = v.and(password).and(u.User.Username() + ":" + password) // as the header has them
	}
	for _, values := range u.Query() {
		for _, value := range values {
			v = v.and(value)
		}
	}
	return v
}

func (v veil) and(secret string) veil {
	if len(secret) >= minSecret {
		v.secrets = append(v.secrets, secret)
		v.encoded = append(v.encoded, encodings(secret)...)
	}
	return v
}

func (v veil) text(s string) string {
	for _, secret := range v.secrets {
		s = hide(s, secret)
	}
	for _, text := range v.encoded {
		s = strings.ReplaceAll(s, text, hidden)
	}
	return s
}

// line returns the text without secrets as one line of at most most bytes.
func (v veil) line(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(v.text(s), "\uFFFD"))
	s = strings.TrimSpace(v.text(s))
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len("…")], "") + "…"
}

// hide returns err, with a text of its own if a secret is part of it.
func (v veil) hide(err error) error {
	if shown := v.text(err.Error()); shown != err.Error() {
		return veiled{shown, err}
	}
	return err
}

// veiled is an error whose own text must not be shown.
type veiled struct {
	text string
	err  error
}

func (e veiled) Error() string        { return e.text }
func (e veiled) Is(target error) bool { return errors.Is(e.err, target) }
