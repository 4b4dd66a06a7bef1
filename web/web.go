// Package web is the inspector: the page that the daemon serves. Its files are embedded as they are; nothing builds them. README.md says
// how they are made.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed index.html icon.svg style.css *.js views/*.js lib
var files embed.FS

// Policy is what the page may do: run its own scripts, and speak with its own server. Nothing is loaded from anywhere else, no text becomes
// markup but through lit-html's own templates and the sanitizer, and no other page may have it in a frame (W3C, Content Security Policy
// Level 3, and Trusted Types).
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types lit-html dompurify"

// types are those of the files by their extension: what the system says of them differs from machine to machine.
var types = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

// Serve answers with the file of a name such as "views/plan.js"; "" is the page itself. False: there is no such file, and nothing is
// written.
func Serve(w http.ResponseWriter, r *http.Request, name string) bool {
	if name == "" {
		name = "index.html"
	}
	kind, known := types[path.Ext(name)]
	body, err := fs.ReadFile(files, name)
	if err != nil || !known {
		return false
	}
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", Policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-DNS-Prefetch-Control", "off") // the name of a host that a model has linked to would tell its owner something
	h.Set("Cache-Control", "no-cache")     // the browser asks whether it has changed
	h.Set("ETag", tag)
	if strings.Contains(r.Header.Get("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	_, _ = w.Write(body) // if that fails, the client has gone
	return true
}
