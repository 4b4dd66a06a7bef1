package bench

import (
	"github.com/grapnel-go/grapnel/bench/peers/eino"
	"github.com/grapnel-go/grapnel/bench/peers/genkit"
	"github.com/grapnel-go/grapnel/bench/peers/grapnel"
	"github.com/grapnel-go/grapnel/bench/peers/langchaingo"
	"github.com/grapnel-go/grapnel/bench/peers/limit"
	"github.com/grapnel-go/grapnel/bench/work"
)

// Subjects are the systems that do turns, in the order in which they are measured.
var Subjects = []work.Subject{grapnel.Subject, limit.Subject, eino.React, eino.ADK, genkit.Subject, langchaingo.Subject}

// Lack says that a subject is left out of a scenario, and why.
type Lack struct{ Scenario, Subject, Reason string }

// Missing are the subjects that are left out of scenarios. A scenario is the name of
// its benchmark, with the case if only that is left out: "Concurrent/store=sqlite".
var Missing = []Lack{
	{"Concurrent/store=sqlite", eino.React.Name, eino.NoStore},
	{"Concurrent/store=sqlite", eino.ADK.Name, eino.NoStore},
	{"Schema", "langchaingo", "it makes no schema of a type: one is written by hand"},
	{"Stream", "eino", "its reader of OpenAI's wire is another module, eino-ext"},
	{"Stream", "genkit", "its plugin for OpenAI's wire reads with openai-go"},
	{"TurnHooks", genkit.Subject.Name, string(genkit.NoHooks)},
	{"Concurrent/store=sqlite", genkit.Subject.Name, string(genkit.NoDatabase)},
	{"Agents", genkit.Subject.Name, genkit.TooMany},
}

// Lacks returns why a subject is left out of a scenario; "" if it is not.
func Lacks(scenario, subject string) string {
	for _, l := range Missing {
		if l.Scenario == scenario && l.Subject == subject {
			return l.Reason
		}
	}
	return ""
}
