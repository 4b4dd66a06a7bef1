package diag

import (
	"fmt"
	"slices"
	"strings"
)

// page explains one code.
type page struct {
	code, title, text, example string
}

// Explain returns the page of a code: what it means, why it is a problem, and code that has it with its fix.
func Explain(code string) (string, bool) {
	all := pages()
	i := slices.IndexFunc(all, func(p page) bool { return strings.EqualFold(p.code, code) })
	if i < 0 {
		return "", false
	}
	p := all[i]
	text := fmt.Sprintf("%s: %s\n\n%s\n", p.code, p.title, p.text)
	if p.example != "" {
		text += "\n\t" + strings.ReplaceAll(p.example, "\n", "\n\t") + "\n"
	}
	return text, true
}

// Codes returns all codes, sorted.
func Codes() []string {
	var out []string
	for _, p := range pages() {
		out = append(out, p.code)
	}
	return out
}

func pages() []page {
	all := slices.Concat(runPages(), directivePages(), typePages(), planPages(), policyPages(), toolPages(), outputPages(), misusePages(), internalPages())
	slices.SortFunc(all, func(a, b page) int { return strings.Compare(a.code, b.code) })
	return all
}

func runPages() []page {
	return []page{
		{"HG003", "the pattern matches no package",
			"Patterns are those of the go command, relative to the directory of the run.", "hookgen ./daemon"},
		{"HG004", "a file instead of a package",
			"Code is generated for whole packages, because a type and its methods may stand in different files.",
			"hookgen daemon.go   // wrong\nhookgen .           // right"},
	}
}

func directivePages() []page {
	return []page{
		{"HG005", "unknown directive",
			"The names after //hook: are a closed list, so that a misspelt one is never silently nothing.", "//hook:composit   // wrong\n//hook:composite  // right"},
		{"HG006", "almost a directive",
			"A directive is a line comment without a blank after the slashes, in lower case. Anything else is prose to Go.",
			"// hook:tool   // wrong\n//+hook:tool   // wrong\n//hook:tool    // right"},
		{"HG007", "a directive in the wrong place",
			"A directive belongs to the declaration whose doc comment it ends; above another kind of declaration it would do nothing.", ""},
		{"HG008", "unknown or wrong option",
			"The options of a directive are a closed list; flags take no value, durations and numbers are positive.",
			"//hook:tool tiemout=30s   // wrong\n//hook:tool timeout=30s   // right"},
		{"HG009", "unknown word in a hook tag",
			"The tag of a field of a composite has options of the field before the first point, and behind each point those of the point.",
			"Memory *memory.Memory `hook:\"befor=OS\"`                     // wrong\nMemory *memory.Memory `hook:\"before=OS; BeforeTool: failopen\"` // right"},
	}
}

func typePages() []page {
	return []page{
		{"HG010", "not valid Go",
			"Something that code is generated from does not type-check or does not parse; the compiler says the same. Errors elsewhere in the package do not matter here.", ""},
		{"HG011", "a composite without hooks", "No field has a type that implements hook.Hook, so there is nothing to weld.", ""},
		{"HG012", "a method or a type that does not fit",
			"A method has the name of a point and another signature: it would never be called. Or a type has points without being a hook.Hook.",
			"func (m *Memory) OnEvent(ev hook.Event)                      // wrong\nfunc (m *Memory) OnEvent(ctx context.Context, ev hook.Event) // right"},
		{"HG013", "a method whose name is almost a point's",
			"Because hook.Nop has the method that was meant, nothing else would tell. If the name is meant as it is, put //hook:ignore HG013 above the method.",
			"func (m *Memory) OnEvents(ctx context.Context, ev hook.Event) // never called"},
		{"HG014", "an ambiguous method", "Two embedded fields promote the point at the same depth, so the type has it from neither.", ""},
		{"HG015", "a field that hides a point", "A field with a point's name hides the method of an embedded type.", ""},
		{"HG016", "hooks in a form that no composite calls",
			"Members are fields of a hook's type, and groups that are given at run time are a []hook.Hook. Hooks in maps, arrays, other slices and structs, and functions of a point's signature, would never be called.",
			"Guards map[string]hook.Hook          // wrong\nGuards []hook.Hook                   // right\nOthers map[string]hook.Hook `hook:\"-\"` // right: meant for something else"},
	}
}

func planPages() []page {
	return []page{
		{"HG020", "one tool with two owners",
			"A call goes to one owner, so a name can have only one. A prefix on the field makes the names of all its tools different.",
			"Users *sqltools.DB `hook:\"prefix=users_\"`\nAudit *sqltools.DB `hook:\"prefix=audit_\"`"},
		{"HG021", "a tool that is never called",
			"Tools that are known only at run time are asked for after all static ones, so they cannot shadow them. A member with the tag dynamic is asked there too, and a tool of it that a static member has as well is never reached.",
			"Files *files.Files `hook:\"dynamic,prefix=files_\"`"},
		{"HG022", "a tool name that providers do not take", "Names match ^[a-zA-Z0-9_-]{1,64}$, prefix included.", ""},
		{"HG023", "a tool name that is reserved",
			"hook.ReservedTools are the public names that the runtime keeps for itself, and those that models call on their own. A prefix on the field makes another name of it.", ""},
		{"HG024", "a prefix on a group", "The members of a group are known only at run time, so their names could collide all the same.", ""},
		{"HG026", "an order that cannot be", "The before= and after= of these fields contradict each other, or composites are nested in each other.", ""},
		{"HG027", "an order relative to nothing", "before= and after= name another field of the same composite.", ""},
		{"HG028", "a required field that may be missing", "requires= names a field that must be there: it exists, and it is not optional unless the field that requires it is.", ""},
		{"HG029", "two instances without prefixes",
			"Two fields of one type have the same tools, so at least one of them needs a prefix.",
			"Users *sqltools.DB `hook:\"prefix=users_\"`\nAudit *sqltools.DB `hook:\"prefix=audit_\"`"},
	}
}

func policyPages() []page {
	return []page{
		{"HG043", "an option that does nothing where it stands",
			"Timeout, fail policy, mode and visibility belong behind a point, and each needs a point where it means something: record and background one that observes, parallel one that contributes, a timeout one with a context to end, a fail policy one whose answer something can stand in for.",
			"Guard *guard.Guard `hook:\"timeout=2m\"`             // wrong\nGuard *guard.Guard `hook:\"BeforeTool: timeout=2m\"` // right"},
		{"HG044", "a policy for a point that the member does not have",
			"The tag says something about a point at which the member is never called. Perhaps another point was meant, or the method is missing.",
			"Audit *audit.Audit `hook:\"BeforeTool: failopen\"` // wrong if it has only AfterTool"},
		{"HG045", "a pattern that can never match",
			"match=kind:pattern narrows the points that are about the kind: tool, path, command, agent, sender, session or skill. In a pattern * stands for any characters and ? for one; in paths * stays within a directory and ** does not. Patterns of one kind are alternatives, also joined by |; different kinds must all match. A kind that no point of the member is about, and a pattern that no name can match, would do nothing.",
			"Policy *policy.Policy `hook:\"match=tool:mcp__*|bash,match=agent:coder\"`"},
		{"HG046", "options that contradict each other",
			"Two options of one field exclude each other, or leave out one half of what belongs together: Schema and Dispatch, OnRegisterAgent and OnUnregisterAgent, OnOpen and OnClose.",
			"Guard *guard.Guard `hook:\"BeforeTool: failopen,failclosed\"` // wrong"},
		{"HG047", "rewriters without a declared order",
			"Two members rewrite the same value, each on what the one before it left. Only their place in the struct says which that is, so moving a field would change what they do together. Say it with before=, after= or order=, or silence the warning above the field or the type.",
			"Redact *redact.Redact\nTrim   *trim.Trim `hook:\"after=Redact\"`"},
	}
}

func toolPages() []page {
	return []page{
		{"HG030", "a method that cannot be a tool",
			"A tool takes a context, perhaps a *hook.Env, perhaps one struct or pointer to a struct, and returns an error or a value and an error.",
			"func (n *Notes) Add(ctx context.Context, in AddInput) (string, error)"},
		{"HG031", "a tool without a description", "The doc comment of the method is what tells the model when to use the tool.", ""},
		{"HG032", "an input field without a description", "The comment of the field is what tells the model what to put there.", ""},
		{"HG033", "a wrong constraint", "The words of the tag hook on an input field fit the field's type and each other.", "Title string `json:\"title\" hook:\"maxlen=80\"`"},
		{"HG034", "a type that cannot be in an input", "Arguments are JSON: functions, channels, interfaces and the like have no form there.", ""},
		{"HG035", "a type with its own decoder", "The generator cannot know which JSON a hand-written UnmarshalJSON takes. Say it above the type, or above the field if the type is somebody else's.", "//hook:schema {\"type\":\"string\",\"pattern\":\"^[0-9]+([.][0-9]+)?$\"}\nCost decimal.Decimal `json:\"cost\"`"},
		{"HG036", "an input that refers to itself", "A schema is written out in full, so inputs are finite.", ""},
		{"HG037", "a field that takes anything", "Without a type the model gets no hint and the tool no check.", ""},
		{"HG038", "two fields with one JSON name", "encoding/json would take one of them and drop the other, or match both.", ""},
		{"HG039", "an unexported field with a JSON name", "It is never filled.", ""},
	}
}

func outputPages() []page {
	return []page{
		{"HG040", "a type that no methods can be generated for", "Aliases have none of their own, and types with type parameters are not generated for.", ""},
		{"HG043", "a //hook:schema that cannot be kept",
			"The schema of a type that decodes itself is checked by generated code before the type's method is called, so it has only the keywords that this code checks, and it stands above a type with a method of its own or above a field of such a type.",
			"//hook:schema {\"type\":[\"string\",\"array\"],\"items\":{\"type\":\"string\"}}\ntype StringOrList []string"},
		{"HG051", "a generated method that nothing calls",
			"The composite declares the method itself, so what the members do there is generated as compose…; the hand-written method has to call it.",
			"func (d *Daemon) OnBuildAgent(ctx context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {\n\treturn d.composeOnBuildAgent(ctx, cfg)\n}"},
		{"HG052", "the output's name is taken", "hook_gen.go was not written by hookgen, and files of others are never touched.", ""},
		{"HG053", "a name that the output needs is taken", "The generated file declares the same thing; it does not compile together with the declaration that is there.", ""},
		{"HG060", "a subsystem that is in the way",
			"hookgen new writes a subsystem once and never changes or overwrites what is there. A subsystem that is there and has its type and all tools of -tools is whole, by whomever it was written, and then there is nothing to do; here something is missing. A tool is added as a method with //hook:tool.",
			"hookgen new notes -tools add,list   // writes subsystems/notes\nhookgen new notes -tools add,list   // finds it whole\nhookgen new notes -tools add,find   // wrong: Notes has no find"},
		{"HG061", "a field that has to be added by hand",
			"hookgen new adds a field to a composite only if the rest of the file stays as it is and everything compiles afterwards. The subsystem itself is complete; the notes say why the field is not there.",
			"type Daemon struct {\n\tNotes *notes.Notes // the line to add\n}"},
		{"HG070", "out of date", "The file is not what its sources say. Run go tool hookgen ./... (or go generate ./... where a go:generate line does the same).", ""},
		{"HG071", "missing", "The package has directives, but the file that is generated from them is not there. Run go tool hookgen ./... (or go generate ./... where a go:generate line does the same).", ""},
		{"HG072", "orphaned", "The file was generated, and no directive asks for it any more.", ""},
	}
}

func internalPages() []page {
	return []page{
		{"HG099", "internal error", "The generated code does not compile. Nothing was written; please report it.", ""},
	}
}
