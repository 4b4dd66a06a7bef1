package api

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// sentinels are all errors that the runtime and its stores export, by name, with
// the status and code of each.
func sentinels() map[string]struct {
	err    error
	status int
	code   wire.Code
} {
	type row = struct {
		err    error
		status int
		code   wire.Code
	}
	return map[string]row{
		"runtime.ErrAgentUnknown":     {runtime.ErrAgentUnknown, http.StatusNotFound, wire.CodeNotFound},
		"runtime.ErrAgentExists":      {runtime.ErrAgentExists, http.StatusConflict, wire.CodeExists},
		"runtime.ErrAgentClosing":     {runtime.ErrAgentClosing, http.StatusConflict, wire.CodeAgentGone},
		"runtime.ErrBusy":             {runtime.ErrBusy, http.StatusConflict, wire.CodeBusy},
		"runtime.ErrChild":            {runtime.ErrChild, http.StatusBadRequest, wire.CodeInvalid},
		"runtime.ErrIdle":             {runtime.ErrIdle, http.StatusConflict, wire.CodeIdle},
		"runtime.ErrNotInterrupted":   {runtime.ErrNotInterrupted, http.StatusConflict, wire.CodeIdle},
		"runtime.ErrNothingToCompact": {runtime.ErrNothingToCompact, http.StatusConflict, wire.CodeIdle},
		"runtime.ErrStopped":          {runtime.ErrStopped, http.StatusConflict, wire.CodeSkipped},
		"runtime.ErrSkipped":          {runtime.ErrSkipped, http.StatusConflict, wire.CodeSkipped},
		"runtime.ErrRejected":         {runtime.ErrRejected, http.StatusConflict, wire.CodeSkipped},
		"runtime.ErrLeaseLost":        {runtime.ErrLeaseLost, http.StatusConflict, wire.CodeBusy},
		"runtime.ErrSummary":          {runtime.ErrSummary, http.StatusBadGateway, wire.CodeModel},
		"runtime.ErrRetries":          {runtime.ErrRetries, http.StatusBadGateway, wire.CodeModel},
		"runtime.ErrLateGate":         {runtime.ErrLateGate, http.StatusGatewayTimeout, wire.CodeSkipped},
		"runtime.ErrPlan":             {runtime.ErrPlan, http.StatusBadGateway, wire.CodeModel},
		"runtime.ErrEnded":            {runtime.ErrEnded, http.StatusConflict, wire.CodeIdle},
		"runtime.ErrArguments":        {runtime.ErrArguments, http.StatusBadGateway, wire.CodeModel},
		"runtime.ErrUnsupported":      {runtime.ErrUnsupported, http.StatusBadRequest, wire.CodeInvalid},
		"runtime.ErrTurnTools":        {runtime.ErrTurnTools, http.StatusBadRequest, wire.CodeInvalid},
		"runtime.ErrNoInput":          {runtime.ErrNoInput, http.StatusBadRequest, wire.CodeInvalid},
		"runtime.ErrAnswered":         {runtime.ErrAnswered, http.StatusConflict, wire.CodeAnswered},
		"runtime.ErrRequestUnknown":   {runtime.ErrRequestUnknown, http.StatusNotFound, wire.CodeNotFound},
		"runtime.ErrClosed":           {runtime.ErrClosed, http.StatusServiceUnavailable, wire.CodeUnavailable},
		"runtime.ErrNotOpen":          {runtime.ErrNotOpen, http.StatusServiceUnavailable, wire.CodeUnavailable},
		// Abandoned work is the daemon's failure; only its end reports it.
		"runtime.ErrAbandoned": {runtime.ErrAbandoned, http.StatusInternalServerError, wire.CodeInternal},
		// Only SendAs returns it, which no endpoint calls.
		"runtime.ErrMemberUnknown": {runtime.ErrMemberUnknown, http.StatusInternalServerError, wire.CodeInternal}, // nor detaches
		"runtime.ErrAgentHalted":   {runtime.ErrAgentHalted, http.StatusServiceUnavailable, wire.CodeUnavailable},
		"runtime.ErrDetached":      {runtime.ErrDetached, http.StatusConflict, wire.CodeSkipped},
		"runtime.ErrAnswer":        {runtime.ErrAnswer, http.StatusInternalServerError, wire.CodeInternal},
		"store.ErrConflict":        {store.ErrConflict, http.StatusConflict, wire.CodeBusy},
		"store.ErrFenced":          {store.ErrFenced, http.StatusConflict, wire.CodeBusy},
		"store.ErrLeased":          {&store.LeasedError{}, http.StatusConflict, wire.CodeBusy},
		"store.ErrUnknown":         {store.ErrUnknown, http.StatusNotFound, wire.CodeNotFound},
		"store.ErrExists":          {store.ErrExists, http.StatusConflict, wire.CodeExists},
		"store.ErrCompacted":       {store.ErrCompacted, http.StatusBadRequest, wire.CodeInvalid},
		"store.ErrNoTurn":          {store.ErrNoTurn, http.StatusBadRequest, wire.CodeInvalid},
		"store.ErrKey":             {store.ErrKey, http.StatusBadRequest, wire.CodeInvalid},
		"store.ErrFull":            {store.ErrFull, http.StatusInsufficientStorage, wire.CodeStorage},
		"store.ErrClosed":          {store.ErrClosed, http.StatusServiceUnavailable, wire.CodeUnavailable},
		// The file is damaged: the daemon's failure, and nothing that a client can do.
		"store.ErrDamaged": {&store.DamagedError{ID: "c1", Part: "message"}, http.StatusInternalServerError, wire.CodeInternal},
		"store.ErrDown":    {store.ErrDown, http.StatusServiceUnavailable, wire.CodeUnavailable},
		// No endpoint takes jobs, beats, or fills a store.
		"store.ErrNoJob":    {store.ErrNoJob, http.StatusInternalServerError, wire.CodeInternal},
		"store.ErrLate":     {store.ErrLate, http.StatusInternalServerError, wire.CodeInternal},
		"store.ErrNotEmpty": {store.ErrNotEmpty, http.StatusInternalServerError, wire.CodeInternal},
	}
}

// TestEveryErrorHasItsStatus: a new error of the runtime or of stores needs a row here,
// and a decision.
func TestEveryErrorHasItsStatus(t *testing.T) {
	t.Parallel()
	rows := sentinels()
	for pkg, dir := range map[string]string{"runtime": "../../runtime", "store": "../../runtime/store"} {
		for _, name := range exportedErrors(t, dir) {
			assert.Contains(t, rows, pkg+"."+name, "what is a client told of it?")
		}
	}
	for name, row := range rows {
		f := failureOf(fmt.Errorf("compact conversation c1: %w", row.err))
		assert.Equal(t, row.status, f.status, name)
		assert.Equal(t, row.code, f.code, name)
		assert.NotEmpty(t, f.text, name)
	}
}

// exportedErrors are the variables Err… of the package in the directory.
func exportedErrors(t *testing.T, dir string) (out []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				for _, name := range spec.Names {
					if strings.HasPrefix(name.Name, "Err") {
						out = append(out, name.Name)
					}
				}
			}
			return true
		})
	}
	require.NotEmpty(t, out)
	return out
}
