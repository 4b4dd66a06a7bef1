package pgdb

import (
	"crypto/x509"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

const notAllowed = "42501"

// discreet returns err with a text that says neither where the database is nor what it and its user are
// called: clients and logs get it. It wraps err.
func discreet(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, e := range revealing(err) {
		text = strings.ReplaceAll(text, e.Error(), reason(e))
	}
	if text == err.Error() {
		return err
	}
	return &discreetError{text, err}
}

type discreetError struct {
	text string
	err  error
}

func (e *discreetError) Error() string { return e.text }
func (e *discreetError) Unwrap() error { return e.err }

// revealing returns the outermost of the errors in err whose texts have addresses or names.
func revealing(err error) []error {
	switch e := err.(type) { //nolint:errorlint // it goes through the tree itself
	case *discreetError:
		return nil
	case *pgconn.ConnectError, *net.OpError, *net.DNSError:
		return []error{err}
	case *pgconn.PgError:
		if isOf(e, "28", "3D", tooManyConnections) || isOf(e, notAllowed) && strings.Contains(e.Message, "for database") {
			return []error{err}
		}
	}
	var out []error
	for _, inner := range unwrapped(err) {
		out = append(out, revealing(inner)...)
	}
	return out
}

func isOf(e *pgconn.PgError, codes ...string) bool {
	return slices.ContainsFunc(codes, func(code string) bool { return strings.HasPrefix(e.Code, code) })
}

// reason says why, without addresses and names.
func reason(err error) string {
	why := strings.Join(causes(err), "; ")
	if _, connects := err.(*pgconn.ConnectError); connects { //nolint:errorlint // not what it wraps
		return "the database cannot be reached: " + why
	}
	return why
}

// causes returns the texts of the errors at the bottom of err, each once: a host may have several addresses.
func causes(err error) (out []string) {
	switch e := err.(type) { //nolint:errorlint // it goes through the tree itself
	case *pgconn.PgError:
		return []string{refusal(e) + " (SQLSTATE " + e.Code + ")"}
	case *net.DNSError:
		return []string{"the name of its machine cannot be resolved"}
	case x509.HostnameError:
		return []string{"its certificate is for another name"}
	}
	inner := unwrapped(err)
	if len(inner) == 0 {
		return []string{err.Error()}
	}
	for _, e := range inner {
		for _, text := range causes(e) {
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

// refusal says what a server means that refuses a connection.
func refusal(e *pgconn.PgError) string {
	switch {
	case isOf(e, "28"):
		return "it refuses the user or the password"
	case isOf(e, notAllowed):
		return "permission denied for the database"
	case isOf(e, "3D"):
		return "there is no such database"
	case isOf(e, tooManyConnections):
		return "it takes no more connections"
	case isOf(e, classShutdown):
		return "it starts or stops"
	}
	return "it refuses"
}

// unwrapped returns the errors that err wraps.
func unwrapped(err error) []error {
	switch e := err.(type) { //nolint:errorlint // one step
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return []error{inner}
		}
	}
	return nil
}
