package diag

import (
	"slices"
	"strings"
)

func pages() []page {
	all := slices.Concat(runPages(), directivePages(), typePages(), planPages(), policyPages(), toolPages(), outputPages(), misusePages(), internalPages())
	slices.SortFunc(all, func(a, b page) int { return strings.Compare(a.code, b.code) })
	return all
}

func runPages() []page {
	return []page{
		{"HG001", "built with an older Go than the module",
			"The generator reads what the module's compiler writes and what its language allows, so it must not be " +
				"older than that. Run through the go command it is built with the module's own Go.",
			"hookgen ./...           // wrong: a binary from some time ago\n" +
				"go tool hookgen ./...   // right, with the line that go get -tool writes into go.mod"},
		{"HG002", "a Grapnel that is too old",
			"Generated code calls package composite, and names a constant there that says for which version it was " +
				"written. The Grapnel that the module requires does not have it: hookgen is newer.",
			"require github.com/grapnel-go/grapnel v0.1.0   // wrong: older than hookgen\n" +
				"go get github.com/grapnel-go/grapnel@latest    // right"},
		{"HG003", "the pattern matches no package",
			"Patterns are those of the go command, relative to the directory of the run. Where a directory has nearly " +
				"that name, it is suggested.",
			"hookgen ./demon    // wrong: there is no such directory\n" +
				"hookgen ./daemon   // right\n" +
				"hookgen ./...      // right: all packages below"},
		{"HG004", "a file instead of a package",
			"Code is generated for whole packages, because a type and its methods may stand in different files.",
			"hookgen daemon.go   // wrong\n" +
				"hookgen .           // right"},
	}
}

func directivePages() []page {
	return []page{
		{"HG005", "unknown directive",
			"The names after //hook: are a closed list, so that a misspelt one is never silently nothing.",
			"//hook:composit    // wrong\n" +
				"//hook:composite   // right"},
		{"HG006", "almost a directive",
			"A directive is a line comment without a blank after the slashes, in lower case, and begins with //hook:. " +
				"Anything else is prose to Go.",
			"// hook:tool      // wrong\n" +
				"//+hook:tool      // wrong\n" +
				"//Hook:tool       // wrong\n" +
				"//hookgen:tool    // wrong\n" +
				"/*hook:tool*/     // wrong\n" +
				"//hook:tool       // right"},
		{"HG007", "a directive in the wrong place",
			"A directive belongs to the declaration whose doc comment it ends. Above another kind of declaration, " +
				"above a group of them, inside a function, or with an empty line behind it, it would do nothing.",
			"//hook:composite                              // wrong: stands above two types\n" +
				"type (\n" +
				"\tDaemon struct{ Notes *notes.Notes }\n" +
				"\tOther  struct{}\n" +
				")\n" +
				"\n" +
				"type (\n" +
				"\t//hook:composite                      // right\n" +
				"\tDaemon struct{ Notes *notes.Notes }\n" +
				"\tOther  struct{}\n" +
				")"},
		{"HG008", "unknown or wrong option",
			"The options of a directive are a closed list; each stands once, flags take no value, durations and " +
				"numbers are positive. A directive stands once above a declaration, and a composite is no subsystem at the " +
				"same time.",
			"//hook:tool tiemout=30s    // wrong: unknown\n" +
				"//hook:tool timeout=30     // wrong: no unit\n" +
				"//hook:tool readonly=yes   // wrong: a flag\n" +
				"//hook:tool readonly timeout=30s   // right"},
		{"HG009", "unknown word in a hook tag",
			"The tag of a field of a composite has options of the field before the first point, and behind each point " +
				"those of the point.",
			"Memory *memory.Memory `hook:\"befor=OS\"`                        // wrong\n" +
				"Memory *memory.Memory `hook:\"before=OS; BeforeTool: failopen\"` // right"},
	}
}

func typePages() []page {
	return []page{
		{"HG010", "not valid Go",
			"Something that code is generated from does not type-check or does not parse; the compiler says the same. " +
				"Errors elsewhere in the package do not matter here.",
			"type Daemon struct{ Memory *memory.Memry }    // wrong: memory has no Memry\n" +
				"type Daemon struct{ Memory *memory.Memory }   // right"},
		{"HG011", "a composite without hooks",
			"No field has a type that implements hook.Hook, so the composite would call nothing.",
			"//hook:composite\n" +
				"type Daemon struct{ hook.Nop }               // wrong: no member\n" +
				"\n" +
				"//hook:composite\n" +
				"type Daemon struct{ Memory *memory.Memory }   // right"},
		{"HG012", "a method or a type that does not fit",
			"A method has the name of a point and another signature: it would never be called. Or a type has points " +
				"without being a hook.Hook, which it becomes by embedding hook.Nop.",
			"func (m *Memory) OnEvent(ev hook.Event)                      // wrong\n" +
				"func (m *Memory) OnEvent(ctx context.Context, ev hook.Event) // right"},
		{"HG013", "a method whose name is almost a point's",
			"Because hook.Nop has the method that was meant, nothing else would tell. If the name is meant as it is, " +
				"put //hook:ignore HG013 above the method.",
			"func (m *Memory) OnEvents(ctx context.Context, ev hook.Event) // wrong: never called\n" +
				"func (m *Memory) OnEvent(ctx context.Context, ev hook.Event)  // right"},
		{"HG014", "an ambiguous method",
			"Two embedded fields promote the point at the same depth, so the type has it from neither. Declare it on " +
				"the type itself, or drop one of the fields.",
			"type Notes struct {   // wrong: hook.Nop and Mixin both have OnEvent\n" +
				"\thook.Nop\n" +
				"\tMixin\n" +
				"}\n" +
				"\n" +
				"// right: Notes says which\n" +
				"func (n *Notes) OnEvent(ctx context.Context, ev hook.Event) { n.Mixin.OnEvent(ctx, ev) }"},
		{"HG015", "a field that hides a point",
			"A field with a point's name hides the method of an embedded type.",
			"type Notes struct {\n" +
				"\thook.Nop\n" +
				"\tPreprocess bool   // wrong: hides the method of hook.Nop\n" +
				"\tTrim       bool   // right\n" +
				"}"},
		{"HG016", "hooks in a form that no composite calls",
			"Members are fields of a hook's type, and groups that are given at run time are a []hook.Hook. Hooks in " +
				"maps, arrays, other slices and structs, and functions of a point's signature, would never be called.",
			"Guards map[string]hook.Hook            // wrong\n" +
				"Guards []hook.Hook                     // right\n" +
				"Others map[string]hook.Hook `hook:\"-\"` // right: meant for something else"},
		{"HG017", "hook.Nop by pointer",
			"An embedded *hook.Nop that nobody sets is nil, and every method that it promotes panics. hook.Nop has no " +
				"state and no size.",
			"type Notes struct{ *hook.Nop }   // wrong\n" +
				"type Notes struct{ hook.Nop }    // right"},
		{"HG019", "a directive that is not read",
			"Code is generated for the files that the go command compiles here: not for tests, and not for what build " +
				"constraints exclude. In a test it is an error, in a file of another system or tag a warning, which " +
				"//hook:ignore HG019 in the file silences.",
			"// notes_test.go\n" +
				"//hook:composite                     // wrong\n" +
				"type all struct{ Notes *Notes }\n" +
				"\n" +
				"joined, err := composite.New(&all{}) // right: in tests hooks are joined without generated code"},
	}
}

func planPages() []page {
	return []page{
		{"HG018", "an embedded field that promotes a point although it is no member",
			"The method of an embedded field is also one of the composite's, so the method of a field that is no member would still be called, or be hidden by a generated one.",
			"*Guard `hook:\"-\"`        // wrong: Daemon has Guard's BeforeTool\nGuard *Guard `hook:\"-\"`  // right"},
		{"HG020", "one tool with two owners",
			"A call goes to one owner, so a name can have only one. A prefix on the field makes the names of all its " +
				"tools different.",
			"Users *sqltools.DB // wrong: both have a tool query\n" +
				"Audit *sqltools.DB\n" +
				"\n" +
				"Users *sqltools.DB `hook:\"prefix=users_\"` // right\n" +
				"Audit *sqltools.DB `hook:\"prefix=audit_\"`"},
		{"HG021", "a tool that is never called",
			"Tools that are known only at run time are asked for after all static ones, so they cannot shadow them. A member with the tag dynamic is asked there too, and a tool of it that a static member has as well is never reached.",
			"OS    *ostools.OS\nFiles *files.Files `hook:\"dynamic\"`               // wrong: OS has read too\n" +
				"Files *files.Files `hook:\"dynamic,prefix=files_\"` // right"},
		{"HG022", "a tool name that providers do not take",
			"Names match ^[a-zA-Z0-9_-]{1,64}$, prefix included.",
			"//hook:tool name=notes/add   // wrong\n" +
				"//hook:tool name=notes_add   // right"},
		{"HG023", "a tool name that is reserved",
			"hook.ReservedTools are the public names that the runtime keeps for itself, and those that models call on their own. A prefix on the field makes another name of it.",
			"Work *work.Work                          // wrong, if it has a tool delegate\nWork *work.Work `hook:\"prefix=work_\"` // right"},
		{"HG024", "a prefix on a group",
			"The members of a group are known only at run time, so their names could collide all the same. Give them " +
				"their prefix where they are made.",
			"Extra []hook.Hook `hook:\"prefix=x_\"` // wrong\n" +
				"Extra []hook.Hook                    // right"},
		{"HG025", "a subsystem of another module without a list of its tools",
			"What a subsystem of another module offers is read from a constant that hookgen writes beside it. Without it the tools would be missing, or be known only at run time.",
			"DB *sqltools.DB                     // wrong: nothing was generated in its module\n" +
				"DB *sqltools.DB `hook:\"dynamic\"`    // right: asked at run time; or take a version with a generated file"},
		{"HG026", "a circular order",
			"The before= and after= of these fields contradict each other, or composites are nested in each other.",
			"Skills *skills.Skills `hook:\"before=Memory\"`\n" +
				"Memory *memory.Memory `hook:\"before=Skills\"` // wrong: each before the other\n" +
				"\n" +
				"Skills *skills.Skills `hook:\"before=Memory\"`\n" +
				"Memory *memory.Memory                        // right"},
		{"HG027", "an order relative to nothing",
			"before= and after= name another field of the same composite.",
			"Skills *skills.Skills `hook:\"before=Memry\"`  // wrong: there is no such field\n" +
				"Skills *skills.Skills `hook:\"before=Memory\"` // right\n" +
				"Memory *memory.Memory"},
		{"HG028", "a required field that may be missing",
			"requires= names a field that must be there: it exists, and it is not optional unless the field that " +
				"requires it is.",
			"Skills *skills.Skills `hook:\"requires=Memory\"`\n" +
				"Memory *memory.Memory `hook:\"optional\"` // wrong: may be nil\n" +
				"\n" +
				"Skills *skills.Skills `hook:\"requires=Memory\"`\n" +
				"Memory *memory.Memory                   // right"},
		{"HG029", "two instances without prefixes",
			"Two fields of one type have the same tools, so at least one of them needs a prefix.",
			"Users *sqltools.DB\nAudit *sqltools.DB // wrong\n\nUsers *sqltools.DB `hook:\"prefix=users_\"`\nAudit *sqltools.DB `hook:\"prefix=audit_\"` // right"},
	}
}

func policyPages() []page {
	return []page{
		{"HG043", "an option that does nothing where it stands",
			"Timeout, fail policy, mode and visibility belong behind a point, and each needs a point where it means something: record and background one that observes, parallel one that contributes, a timeout one with a context to end, a fail policy one whose answer something can stand in for.",
			"Guard *guard.Guard `hook:\"timeout=2m\"`             // wrong\nGuard *guard.Guard `hook:\"BeforeTool: timeout=2m\"` // right"},
		{"HG044", "a policy for a point that the member does not have",
			"The tag says something about a point at which the member is never called. Perhaps another point was meant, or the method is missing.",
			"Audit *audit.Audit `hook:\"BeforeTool: failopen\"` // wrong if it has only AfterTool\nAudit *audit.Audit `hook:\"AfterTool: failopen\"`  // right"},
		{"HG045", "a pattern that can never match",
			"match=kind:pattern narrows the points that are about the kind: tool, path, command, agent, sender, session or skill. In a pattern * stands for any characters and ? for one; in paths * stays within a directory and ** does not. Patterns of one kind are alternatives, also joined by |; different kinds must all match. A kind that no point of the member is about, and a pattern that no name can match, would do nothing.",
			"Policy *policy.Policy `hook:\"match=tol:bash\"`                               // wrong\n" +
				"Policy *policy.Policy `hook:\"match=tool:mcp__*|bash,match=agent:coder\"` // right"},
		{"HG046", "options that contradict each other",
			"Two options of one field or tool exclude each other, or leave out one half of what belongs together: Schema and Dispatch, OnRegisterAgent and OnUnregisterAgent, OnOpen and OnClose.",
			"Guard *guard.Guard `hook:\"BeforeTool: failopen,failclosed\"` // wrong\nGuard *guard.Guard `hook:\"BeforeTool: failclosed\"`          // right"},
		{"HG047", "rewriters without a declared order",
			"Two members rewrite the same value, each on what the one before it left. Only their place in the struct says which that is, so moving a field would change what they do together. Say it with before=, after= or order=, or silence the warning above the field or the type.",
			"Redact *redact.Redact\nTrim   *trim.Trim                        // wrong\nTrim   *trim.Trim `hook:\"after=Redact\"` // right"},
		{"HG049", "a pattern that names no tool",
			"match=tool: matches none of the tools that the members have, so the member is never called for one. Where some tools are known only at run time (of an MCP server, of a slice of hooks, added to a turn), only a name that is nearly a known one is reported, and a pattern with a wildcard never. A tool may also be one of a composite around this one: then silence the warning above the field. With -strict it is an error.",
			"Policy *policy.Policy `hook:\"match=tool:bsh\"`  // wrong\nPolicy *policy.Policy `hook:\"match=tool:bash\"` // right"},
		{"HG055", "a member that needs one which is turned off",
			"A layer of configuration turns a member off that another one requires. The program reports it when it starts, or when the agent is registered.",
			"{\"Memory\": \"off\"}                    // wrong where Skills has requires=Memory\n{\"Memory\": \"off\", \"Skills\": \"off\"}   // right"},
		{"HG056", "a layer that does not fit the composite",
			"A layer of configuration names a member that does not exist, or sets something that does not fit it: a policy at a point that it does not have, one half of what belongs together, or on where a more general layer has turned it off.",
			"{\"Gaurd\": \"off\"}                              // wrong: there is no such member\n{\"Guard\": \"BeforeTool: timeout=2s\"}           // right"},
	}
}

func toolPages() []page {
	return []page{
		{"HG030", "a method that cannot be a tool",
			"A tool takes a context, perhaps a *hook.Env, perhaps one struct or pointer to a struct, and returns an " +
				"error or a value and an error.",
			"func (n *Notes) Add(title string) string                              // wrong\n" +
				"func (n *Notes) Add(ctx context.Context, in AddInput) (string, error) // right"},
		{"HG031", "a tool without a description",
			"The doc comment of the method is what tells the model when to use the tool.",
			"//hook:tool\n" +
				"func (n *Notes) Add(ctx context.Context, in AddInput) error // wrong\n" +
				"\n" +
				"// Add stores a new note under a title that no other note has.\n" +
				"//\n" +
				"//hook:tool\n" +
				"func (n *Notes) Add(ctx context.Context, in AddInput) error // right"},
		{"HG032", "an input field without a description",
			"The comment of the field is what tells the model what to put there.",
			"Title string `json:\"title\"` // wrong, without this comment\n" +
				"\n" +
				"// Title of the note, unique.\n" +
				"Title string `json:\"title\"` // right, by the comment above it"},
		{"HG033", "a wrong constraint",
			"The words of the tag hook on an input field fit the field's type and each other.",
			"Title string `json:\"title\" hook:\"maxLen=80\"`   // wrong: unknown\n" +
				"Limit int    `json:\"limit\" hook:\"maxlen=80\"`   // wrong: for strings\n" +
				"Limit int    `json:\"limit\" hook:\"max=ten\"`     // wrong: no number\n" +
				"Title string `json:\"title\" hook:\"maxlen=80\"`   // right\n" +
				"Limit int    `json:\"limit\" hook:\"min=1,max=10\"` // right"},
		{"HG034", "a type that cannot be in an input or a result",
			"Arguments and results are JSON: functions, channels and the like have no form there, and what the generated package " +
				"cannot name (a type that is unexported elsewhere, or internal) its code cannot read.",
			"Done chan struct{} `json:\"done\"` // wrong\n" +
				"Done bool          `json:\"done\"` // right"},
		{"HG035", "a type with its own decoder",
			"The generator cannot know which JSON a hand-written UnmarshalJSON takes. Say it above the type, or above " +
				"the field if the type is somebody else's.",
			"Cost decimal.Decimal `json:\"cost\"` // wrong\n" +
				"\n" +
				"//hook:schema {\"type\":\"string\",\"pattern\":\"^[0-9]+([.][0-9]+)?$\"}\n" +
				"Cost decimal.Decimal `json:\"cost\"` // right"},
		{"HG036", "an input that refers to itself",
			"A schema is written out in full, so inputs are finite. Cut the circle, or take the part as it comes.",
			"type Node struct {\n" +
				"\tChildren []Node            `json:\"children\"` // wrong\n" +
				"\tChildren []json.RawMessage `json:\"children\"` // right\n" +
				"}"},
		{"HG037", "a field that takes anything",
			"Without a type the model gets no hint and the tool no check.",
			"Meta any               `json:\"meta\"` // wrong\n" +
				"Meta map[string]string `json:\"meta\"` // right"},
		{"HG038", "two fields with one JSON name",
			"encoding/json would take one of them and drop the other, or match both.",
			"Title string `json:\"title\"`\n" +
				"Titel string `json:\"title\"`    // wrong\n" +
				"Titel string `json:\"subtitle\"` // right"},
		{"HG039", "an unexported field that is meant as an argument",
			"JSON never fills it, whatever its tag says. An input whose fields are all unexported has no arguments at all.",
			"title string `json:\"title\"` // wrong\n" +
				"Title string `json:\"title\"` // right"},
	}
}

func outputPages() []page {
	return []page{
		{"HG040", "a type that no methods can be generated for",
			"Aliases have none of their own; type parameters need names that no parameter has, and a member has a type of its own.",
			"//hook:composite\ntype Daemon = other.Daemon                  // wrong\n\n" +
				"//hook:composite\ntype Daemon struct{ Other *other.Daemon }   // right"},
		{"HG041", "arguments that depend on a type parameter",
			"The schema of a tool is written when code is generated, and it would differ from instance to instance. Results may depend on type parameters.",
			"func (c *Cache[K, V]) Get(ctx context.Context, in GetInput[K]) (V, error)  // wrong\nfunc (c *Cache[K, V]) Get(ctx context.Context, in GetInput) (V, error)     // right, with c.parse(in.Key)"},
		{"HG042", "a package of another module",
			"Files are written in the main module only; a dependency's belong to whoever publishes it.",
			"go tool hookgen example.com/other/...        // wrong: not of this module\n" +
				"cd ../other && go tool hookgen ./...         // right: in the module itself"},
		{"HG048", "a //hook:schema that cannot be kept",
			"The schema of a type that decodes itself is checked by generated code before the type's method is called, so it has only the keywords that this code checks, and it stands above a type with a method of its own or above a field of such a type.",
			"//hook:schema {\"type\":\"string\",\"maxLenght\":80}   // wrong: unknown keyword\ntype Title struct{ text string }\n\n" +
				"//hook:schema {\"type\":\"string\",\"maxLength\":80}   // right, without this comment\ntype Title struct{ text string }"},
		{"HG050", "a method that the composite declares itself",
			"Not a problem: the composite has a method of that name, so what the members do there is generated as " +
				"compose…, which the method calls. Shown with -v.",
			"func (d *Daemon) OnEvent(ctx context.Context, ev hook.Event) {\n" +
				"\td.composeOnEvent(ctx, ev)\n" +
				"}"},
		{"HG051", "a generated method that nothing calls",
			"The composite declares the method itself, so what the members do there is generated as compose…; the " +
				"hand-written method has to call it.",
			"func (d *Daemon) OnEvent(ctx context.Context, ev hook.Event) {} // wrong: no member hears of it\n" +
				"\n" +
				"func (d *Daemon) OnEvent(ctx context.Context, ev hook.Event) {  // right\n" +
				"\td.composeOnEvent(ctx, ev)\n" +
				"}"},
		{"HG052", "the output's name is taken",
			"hook_gen.go was not written by hookgen, or is a symbolic link or a directory; what is somebody else's is never touched.",
			"hook_gen.go   // wrong, if it was written by hand\n" +
				"hooks.go      // right: any other name"},
		{"HG053", "a name that the output needs is taken",
			"The generated file declares the same thing; it does not compile together with the declaration that is " +
				"there.",
			"const ToolAdd = \"add\"   // wrong: generated for the tool add\n" +
				"const addTool = \"add\"   // right: or use ToolAdd"},
		{"HG060", "a subsystem that is in the way",
			"hookgen new writes a subsystem once and never changes or overwrites what is there. A subsystem that is there and has its type and all tools of -tools is whole, by whomever it was written, and then there is nothing to do; here something is missing. A tool is added as a method with //hook:tool.",
			"hookgen new notes -tools add,list   // writes subsystems/notes\nhookgen new notes -tools add,list   // right: finds it whole\nhookgen new notes -tools add,find   // wrong: Notes has no find"},
		{"HG061", "a field that has to be added by hand",
			"hookgen new adds a field to a composite only if the rest of the file stays as it is and everything compiles afterwards. The subsystem itself is complete; the notes say why the field is not there.",
			"type Daemon struct{}                       // wrong: notes is not in it\ntype Daemon struct{ Notes *notes.Notes }   // right: the line that the fix shows"},
		{"HG054", "a method that acts on copies",
			"A point that is written with the composite's value as its receiver gets a copy of all fields. Members that are values themselves are copied with it, and what they note is lost.",
			"func (d Daemon) OnEvent(ctx context.Context, ev hook.Event)  // wrong where Daemon has Users users.Users\nfunc (d *Daemon) OnEvent(ctx context.Context, ev hook.Event) // right"},
		{"HG070", "out of date",
			"The file is not what its sources say. Run go tool hookgen ./... (or go generate ./... where a go:generate " +
				"line does the same).",
			"go tool hookgen ./..."},
		{"HG071", "missing",
			"The package has directives, but the file that is generated from them is not there. Run go tool hookgen " +
				"./... (or go generate ./... where a go:generate line does the same).",
			"go tool hookgen ./..."},
		{"HG072", "orphaned",
			"The file was generated, and no directive asks for it any more. The next run deletes it.",
			"go tool hookgen ./..."},
	}
}

func internalPages() []page {
	return []page{
		{"HG099", "internal error",
			"The generated code does not compile, which is a mistake of the generator. Nothing was written; please " +
				"report it with the declarations of the package.",
			""},
	}
}
