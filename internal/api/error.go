package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"syscall"

	strict "github.com/go-json-experiment/json"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// maxBody bounds the body of a request in bytes.
const maxBody = 8 << 20

// maxMessage bounds the body of a message, which may have files in base64, in bytes.
const maxMessage = 32 << 20

// failure is an error with its status and code. failureOf finds those of other errors.
type failure struct {
	status int
	code   wire.Code
	text   string
}

func (f *failure) Error() string { return f.text }

func invalid(format string, args ...any) error {
	return &failure{http.StatusBadRequest, wire.CodeInvalid, fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) error {
	return &failure{http.StatusNotFound, wire.CodeNotFound, fmt.Sprintf(format, args...)}
}

// Invalid makes err one about what the client has sent, for functions of [Options].
func Invalid(err error) error {
	return &failure{http.StatusBadRequest, wire.CodeInvalid, err.Error()}
}

// NotFound makes err one about something that is not there, for functions of [Options].
func NotFound(err error) error {
	return &failure{http.StatusNotFound, wire.CodeNotFound, err.Error()}
}

func forbidden(text string) error {
	return &failure{http.StatusForbidden, wire.CodeForbidden, text}
}

// failureOf returns the response for an error. An error without a known sentinel is
// internal.
func failureOf(err error) *failure {
	var f *failure
	if errors.As(err, &f) || nodeFailure(err, &f) {
		return f
	}
	var refused *access.Refused
	if errors.As(err, &refused) {
		return &failure{refused.Status, codeOfRefusal(refused.Status), refused.Text}
	}
	for _, known := range []struct {
		is     error
		status int
		code   wire.Code
	}{
		{runtime.ErrAgentUnknown, http.StatusNotFound, wire.CodeNotFound},
		{runtime.ErrAgentExists, http.StatusConflict, wire.CodeExists},
		{runtime.ErrAgentClosing, http.StatusConflict, wire.CodeAgentGone},
		{runtime.ErrAgentHalted, http.StatusServiceUnavailable, wire.CodeUnavailable},
		{runtime.ErrDetached, http.StatusConflict, wire.CodeSkipped},
		{runtime.ErrBusy, http.StatusConflict, wire.CodeBusy},
		{runtime.ErrChild, http.StatusBadRequest, wire.CodeInvalid},
		{runtime.ErrLeaseLost, http.StatusConflict, wire.CodeBusy},
		{runtime.ErrIdle, http.StatusConflict, wire.CodeIdle},
		{runtime.ErrNotInterrupted, http.StatusConflict, wire.CodeIdle},
		{runtime.ErrNothingToCompact, http.StatusConflict, wire.CodeIdle},
		{runtime.ErrSkipped, http.StatusConflict, wire.CodeSkipped},
		{runtime.ErrStopped, http.StatusConflict, wire.CodeSkipped},
		{runtime.ErrRejected, http.StatusConflict, wire.CodeSkipped},
		{runtime.ErrSummary, http.StatusBadGateway, wire.CodeModel},
		{runtime.ErrRetries, http.StatusBadGateway, wire.CodeModel},
		{runtime.ErrLateGate, http.StatusGatewayTimeout, wire.CodeSkipped},
		{runtime.ErrPlan, http.StatusBadGateway, wire.CodeModel},
		{runtime.ErrEnded, http.StatusConflict, wire.CodeIdle},
		{runtime.ErrArguments, http.StatusBadGateway, wire.CodeModel},
		{runtime.ErrNoInput, http.StatusBadRequest, wire.CodeInvalid},
		{runtime.ErrTurnTools, http.StatusBadRequest, wire.CodeInvalid},
		{runtime.ErrAnswered, http.StatusConflict, wire.CodeAnswered},
		{runtime.ErrRequestUnknown, http.StatusNotFound, wire.CodeNotFound},
		{runtime.ErrUnsupported, http.StatusBadRequest, wire.CodeInvalid},
		{store.ErrKey, http.StatusBadRequest, wire.CodeInvalid},
		{store.ErrNoTurn, http.StatusBadRequest, wire.CodeInvalid},
		{store.ErrCompacted, http.StatusBadRequest, wire.CodeInvalid},
		{store.ErrExists, http.StatusConflict, wire.CodeExists},
		{store.ErrConflict, http.StatusConflict, wire.CodeBusy},
		{store.ErrFenced, http.StatusConflict, wire.CodeBusy},
		{store.ErrLeased, http.StatusConflict, wire.CodeBusy},
		{runtime.ErrClosed, http.StatusServiceUnavailable, wire.CodeUnavailable},
		{runtime.ErrNotOpen, http.StatusServiceUnavailable, wire.CodeUnavailable},
		{store.ErrClosed, http.StatusServiceUnavailable, wire.CodeUnavailable},
		{store.ErrUnknown, http.StatusNotFound, wire.CodeNotFound},
		{store.ErrFull, http.StatusInsufficientStorage, wire.CodeStorage},
	} {
		if errors.Is(err, known.is) {
			return &failure{known.status, known.code, err.Error()}
		}
	}
	if errors.Is(err, syscall.ENOSPC) { // of a file beside the store
		return &failure{http.StatusInsufficientStorage, wire.CodeStorage, err.Error() + "; free some room where the state directory is"}
	}
	return &failure{http.StatusInternalServerError, wire.CodeInternal, err.Error()}
}

// writeError writes the response for an error. Nothing else may have been written.
func writeError(w http.ResponseWriter, err error) {
	f := failureOf(err)
	writeJSON(w, f.status, wire.Failure{Error: wire.Error{Code: f.code, Message: f.text}})
}

// writeJSON writes a response. v is any because it is only encoded. An error of writing is
// dropped, because the client has gone.
func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}

// readJSON decodes the body of a request strictly. Unknown and repeated members, members in
// another case, text that is no UTF-8 and data after the value are errors with their place.
func readJSON[T any](w http.ResponseWriter, r *http.Request) (T, error) {
	return readJSONUpTo[T](w, r, maxBody)
}

// readJSONUpTo is readJSON for a body of at most so many bytes.
func readJSONUpTo[T any](w http.ResponseWriter, r *http.Request, most int64) (T, error) {
	var v T
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return v, &failure{http.StatusUnsupportedMediaType, wire.CodeMedia, "the body has to be JSON; send it with Content-Type: application/json"}
	}
	data, err := io.ReadAll(bounded(w, r, most))
	if err == nil {
		err = strict.Unmarshal(data, &v, strict.RejectUnknownMembers(true))
	}
	if err == nil && bytes.TrimLeft(data, " \t\r\n")[0] != '{' { // null decodes without an error
		return v, invalid("the body is not a JSON object; docs/openapi.yaml lists its members")
	}
	if err := bodyFailure(w, err, most); err != nil {
		return v, err
	}
	if err != nil {
		return v, invalid("the body: %s; docs/openapi.yaml lists its members", describe(err))
	}
	return v, nil
}

// describe returns the text of an error of decoding, without the names of Go types.
func describe(err error) string {
	var wrong *strict.SemanticError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	at := string(wrong.JSONPointer)
	if at == "" {
		at = "the top level"
	}
	if wrong.Err != nil {
		return fmt.Sprintf("at %s: %v", at, wrong.Err)
	}
	return fmt.Sprintf("at %s: a JSON %s is not allowed here", at, wrong.JSONKind)
}
