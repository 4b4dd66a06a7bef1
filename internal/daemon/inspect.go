package daemon

import (
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/runtime"
)

// inspecting returns what people may ask of the program.
func inspecting(a *app.App) api.Inspect {
	reading := make(chan struct{}, 1) // one reads the audit at a time: it may be long
	return api.Inspect{
		Prompt: func(ctx context.Context, agent *runtime.Agent, p *wire.Prompt) error {
			return addToPrompt(ctx, a, agent, p)
		},
		Models: func(all bool) (wire.Models, error) { return modelsOf(a, all) },
		Audit: func(ctx context.Context, limit int, before string) (wire.Audit, error) {
			select {
			case reading <- struct{}{}:
				defer func() { <-reading }()
			case <-ctx.Done():
				return wire.Audit{}, ctx.Err()
			}
			found, err := a.AuditRecords(ctx, limit, before)
			if errors.Is(err, app.ErrPlace) {
				err = api.ErrPlace
			}
			return auditOf(found), err
		},
	}
}

func addToPrompt(ctx context.Context, a *app.App, agent *runtime.Agent, p *wire.Prompt) error {
	owners := map[string]string{}
	for _, t := range a.Tools(agent) {
		owners[t.Name] = t.Owner
	}
	for i := range p.Tools {
		p.Tools[i].Owner = owners[p.Tools[i].Name]
	}
	if sizes := a.ToolSizes(agent); sizes.On {
		p.ToolTokens, p.Searched = sizes.OfferedTokens, len(p.Tools)-sizes.Offered
	}
	cfg := agent.Config()
	for _, name := range cfg.Sections() {
		value, _, err := hook.SectionOf[any](cfg, name)
		if err != nil {
			return err
		}
		p.Sections[name] = value
	}
	files, offBy, err := a.Instructions(ctx, agent)
	if err != nil {
		return err
	}
	p.InstructionsOff = offBy
	for _, f := range files {
		p.Instructions = append(p.Instructions, wire.PromptFile{Path: f.Path, ImportedBy: f.By, Tokens: f.Tokens(), Note: f.Note})
	}
	return nil
}

func modelsOf(a *app.App, all bool) (wire.Models, error) {
	list, err := a.ListModels(all)
	out := wire.Models{Date: list.Date, Models: []wire.Model{}, Vendors: []wire.Vendor{}}
	for _, m := range list.Models {
		one := wire.Model{
			Model: m.Model, Name: m.Name, Aliases: m.Aliases, Window: m.Window, Output: m.Output, Prices: []wire.Price{}, Accepts: []string{},
			Key: m.Key, Source: m.Source, Date: m.Date,
		}
		if m.Price != nil {
			price := wire.Price(*m.Price)
			one.Price = &price
		}
		for _, p := range m.Prices {
			one.Prices = append(one.Prices, wire.Price(p))
		}
		for _, ability := range m.Accepts {
			one.Accepts = append(one.Accepts, string(ability))
		}
		out.Models = append(out.Models, one)
	}
	for _, v := range list.Vendors {
		out.Vendors = append(out.Vendors, wire.Vendor(v))
	}
	return out, err
}

func auditOf(found app.Audited) wire.Audit {
	out := wire.Audit{Entries: []wire.AuditEntry{}, Next: found.Next, Verified: found.Problem == nil, Off: found.Off}
	if found.Problem != nil {
		out.Problem = found.Problem.Error()
	}
	for _, r := range found.Records {
		e := wire.AuditEntry{
			N: r.N, Time: r.Time, Kind: r.Kind, Node: r.Node, Agent: r.Agent, Conversation: r.Conversation, Turn: r.Turn, Step: r.Step, Depth: r.Depth,
			Call: r.Call, Tool: r.Tool, Decision: r.Decision, By: r.By, Stop: r.Stop, Usage: r.Usage, Cost: r.Cost, SHA256: map[string]string{},
		}
		for name, digest := range map[string]string{"text": r.Digests.Text, "args": r.Digests.Args, "result": r.Digests.Result} {
			if digest != "" {
				e.SHA256[name] = digest
			}
		}
		out.Entries = append(out.Entries, e)
	}
	return out
}
