package choose

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/models"
	"github.com/grapnel-go/grapnel/internal/term"
)

// Offer looks for model servers at the ports of this machine, and asks the person whether to use
// one. It returns the id of the model, or the ways to a model, one per line, if there is no
// server, nobody is asked, or nobody wants one.
func Offer(ctx context.Context, opened *app.App, ports []models.Port, ask *term.Approver) (id string, ways []string, err error) {
	found := models.FindLocal(ctx, ports)
	if !ask.Attended() {
		return "", waysForward(opened.Vendors(), found), nil
	}
	for _, l := range found {
		id := l.Vendor + ":" + l.Models[0]
		ok, err := ask.Confirm(ctx, fmt.Sprintf("No model is configured, but %s answers at %s with %s.", l.Title, l.Address, strings.Join(l.Models, ", ")), "Use "+id+" this time?")
		if err != nil || ok {
			return id, nil, err
		}
	}
	return "", waysForward(opened.Vendors(), found), nil
}

// waysForward names three ways to a model in three lines, and then the servers that were found.
func waysForward(vendors []models.Keyed, found []models.Local) []string {
	lines := []string{keyWay(vendors), "", "no model at all: see it work with `grapnel demo`, or write the answers yourself: --model script:FILE"}
	lines[1] = "a server on this machine: start Ollama, llama.cpp, LM Studio or vLLM, then for example --model ollama:NAME"
	if len(found) > 0 {
		lines[1] = "a server on this machine: one is there, see below"
	}
	for _, l := range found {
		for _, name := range l.Models {
			lines = append(lines, fmt.Sprintf("%s answers at %s: grapnel chat --model %s:%s", l.Title, l.Address, l.Vendor, name))
		}
	}
	return lines
}

// keyWay is the way with a key of a vendor.
func keyWay(vendors []models.Keyed) string {
	i := slices.IndexFunc(vendors, func(v models.Keyed) bool { return v.Present })
	if i >= 0 {
		return fmt.Sprintf("a key: %s has one; name a model with --model %s:NAME, or `model:` in ~/.grapnel/config.yaml", vendors[i].Title, vendors[i].Vendor)
	}
	var names []string
	for _, v := range vendors {
		names = append(names, fmt.Sprintf("%s (%s)", v.Variable, v.Title))
	}
	return "a key: set " + strings.Join(names, ", ") + " and name a model with --model VENDOR:NAME"
}
