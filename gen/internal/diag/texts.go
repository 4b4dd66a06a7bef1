package diag

// text is how a cause is reported. In message and fix, %[1]s is the subject of the problem, %[2]s its method, %[3]s the first fact.
type text struct {
	code     string
	severity Severity
	message  string
	fix      string
}

const (
	regenerate = `run "go generate ./...", or "go tool hookgen ./..."`
	refresh    = `run "go tool hookgen ./...", or "go generate ./..." where a go:generate line does the same`
	redraw     = `run the same command without -check, or "go generate ./..." without HOOKGEN_CHECK`
)

// texts has every text that the generator and the analyzer report. It is never changed.
var texts = [...]text{
	Planner:        {message: "%[3]s", fix: "%[4]s"},
	PlannerField:   {message: "field %[1]s: %[3]s", fix: "%[4]s"},
	PlannerTag:     {message: "%[3]s in the hook tag of %[1]s", fix: "%[4]s"},
	PlannerPolicy:  {message: "%[1]s: %[3]s", fix: "%[4]s"},
	PlannerTagForm: {message: "%[3]s on %[1]s", fix: "%[4]s"},
	PlannerTagKey:  {message: `%[3]s of %[1]s; did you mean "hook"?`, fix: "%[4]s"},
	PlannerOptions: {message: "//hook:subsystem of %[1]s: %[3]s", fix: "%[4]s"},

	OldGo: {
		code: "HG001", message: "hookgen was built with %[3]s, but the module is built with %[4]s",
		fix: `run it as "go tool hookgen", which builds it with the module's Go, or install it anew`,
	},
	OldContract: {
		code: "HG002", message: "the module uses %[1]s %[3]s, which does not have composite.%[4]s: hookgen needs a newer one",
		fix: "go get %[1]s@latest",
	},
	NoPackage: {
		code: "HG003", message: `pattern "%[1]s" matches no package`,
		fix: "name a package of this module, as in ./daemon or ./...",
	},
	MisspeltPackage: {code: "HG003", message: `pattern "%[1]s" matches no package; did you mean "%[3]s"?`, fix: "hookgen %[3]s"},
	NoPackages:      {code: "HG003", message: "no package in %[3]s matches %[1]s", fix: "name another directory with -C, or write a package:  hookgen new notes -tools add,list"},
	GoListFails:     {code: "HG003", message: "no package in %[3]s matches %[1]s", fix: "fix what the go command reports"},
	Untidy:          {code: "HG003", message: "no package in %[3]s matches %[1]s", fix: "go mod tidy"},
	FileAsPackage:   {code: "HG004", message: "hookgen takes packages, not files: %[1]q", fix: "hookgen %[3]s"},
	Unparsable:      {code: "HG010", message: "the file cannot be parsed: %[3]s"},
	DirectiveInTest: {
		code: "HG019", message: "//hook:%[1]s stands in a test, but code is generated for the package without its tests",
		fix: "move the declaration into a file that is no test, or join hooks in the test with composite.New",
	},
	DirectiveExcluded: {
		code: "HG019", severity: Warning, message: "//hook:%[1]s is not read: build constraints exclude the file",
		fix: "run hookgen with the -tags that include it, move it into a file without constraints, or put //hook:ignore HG019 into the file",
	},
	OtherModule: {
		code: "HG042", message: "package %[1]s is not in the main module: its %[3]s cannot be written from here",
		fix: "run hookgen in the module of the package",
	},
	ForeignOutput: {code: "HG052", message: "%[1]s exists but was not written by hookgen", fix: "move it to another file"},
	OutputNoFile:  {code: "HG052", message: "%[1]s %[3]s, so hookgen leaves it alone", fix: "move it away, and run hookgen again"},
	PackageExists: {
		code: "HG060", message: "this file exists, and package %[3]s declares no type %[1]s; hookgen new overwrites nothing",
		fix: "choose another name, or another directory with -dir",
	},
	ToolsMissing: {
		code: "HG060", message: "%[1]s exists and has no %[3]s; hookgen new changes no existing code",
		fix: "remove it from -tools, or add this and run hookgen:\n%[4]s",
	},
	FieldNotAdded: {
		code: "HG061", message: "could not add the field for %[1]s to %[3]s",
		fix: "add the line yourself, with the import %[4]q, and run hookgen:  %[5]s",
	},
	OutputStale:    {code: "HG070", message: "is out of date", fix: refresh},
	OutputMissing:  {code: "HG071", message: "is missing", fix: refresh},
	PictureStale:   {code: "HG070", message: "is out of date", fix: redraw},
	PictureMissing: {code: "HG071", message: "is missing", fix: redraw},
	OutputOrphaned: {code: "HG072", message: "was generated, but nothing generates it any more", fix: "delete it, or " + refresh},
	OutputBroken: {
		code: "HG099", message: "internal error: generated code does not compile: %[1]s: %[3]s; nothing was written",
		fix: "please report this with the declarations of the package",
	},
	DraftBroken: {
		code: "HG099", message: "internal error: what would be written does not compile: %[3]s; nothing was written",
		fix: "please report this with the command",
	},

	UnknownDirective:  {code: "HG005", message: "unknown directive //hook:%[1]s", fix: "use one of: %[3]s"},
	MisspeltDirective: {code: "HG005", message: "unknown directive //hook:%[1]s; did you mean //hook:%[3]s?", fix: "%[4]s"},
	NoDirective:       {code: "HG005", message: "%[1]q names no directive", fix: "use one of: %[3]s; for prose put a blank behind //"},
	OtherPrefix:       {code: "HG006", message: "%[1]s is no directive of hookgen: they begin with //hook:", fix: "%[3]s"},
	PlainBlock:        {code: "HG006", message: "%[1]q is a plain comment: a directive is a // comment", fix: "%[3]s"},
	PlainSign:         {code: "HG006", message: "%[1]q is a plain comment: remove the %[4]s after //", fix: "%[3]s"},
	PlainBlank:        {code: "HG006", message: "%[1]q is a plain comment: remove the blank after //", fix: "%[3]s"},
	PlainCase:         {code: "HG006", message: "%[1]q is a plain comment: a directive is written in lower case", fix: "%[3]s"},
	PlainColon:        {code: "HG006", message: "%[1]q is a plain comment: there is no blank beside the colon", fix: "%[3]s"},
	Misplaced: {
		code: "HG007", message: "//hook:%[1]s has no effect on %[3]s; it belongs above %[4]s",
		fix: "move it to the last line of the doc comment of %[5]s, or delete it",
	},
	MisplacedNowhere: {
		code: "HG007", message: "//hook:%[1]s has no effect here, where it is part of no doc comment; it belongs above %[4]s",
		fix: "move it to the last line of the doc comment of %[5]s, or delete it",
	},
	MisplacedInFunction: {
		code: "HG007", message: "//hook:%[1]s has no effect inside a function; it belongs above %[4]s",
		fix: "declare what it is about outside of functions, or delete it",
	},
	MisplacedOnGroup: {
		code: "HG007", message: "//hook:%[1]s has no effect on %[3]s; it belongs above %[4]s",
		fix: "move it into the parentheses, above the one that is meant",
	},
	MisplacedOnField: {
		code: "HG007", message: "//hook:%[1]s has no effect on %[3]s; it belongs above %[4]s",
		fix: "move it above the type of the field, which is %[5]s, or delete it",
	},
	PointElsewhere: {
		code: "HG007", message: "//hook:point declares a point of package hook and has no effect elsewhere",
		fix: "delete it",
	},
	PointShape: {
		code: "HG007", message: "//hook:point needs a one-method interface or a method of Hook",
		fix: "declare an interface with one method of its own name",
	},
	MissingPoint:      {code: "HG008", message: "method %[2]s of Hook has no //hook:point", fix: "//hook:point facade …"},
	RepeatedDirective: {code: "HG008", message: "//hook:%[1]s stands twice above one declaration", fix: "delete one of them"},
	ExclusiveDirectives: {
		code: "HG008", message: "//hook:%[3]s and //hook:%[1]s exclude each other: a composite has only the tools of its members",
		fix: "declare the tools on a type of their own, and make that a field of the composite",
	},
	UnreadableOptions: {
		code: "HG008", message: "the options of //hook:%[1]s cannot be read: %[3]s",
		fix: "close every quote, and put a blank behind it",
	},
	RepeatedOption:   {code: "HG008", message: "option %[3]s of //hook:%[1]s is given twice", fix: "delete one of them"},
	UnexpectedOption: {code: "HG008", message: "unknown option %[3]q of //hook:%[1]s", fix: "//hook:%[1]s takes no options"},
	UnknownOption:    {code: "HG008", message: "unknown option %[3]q of //hook:%[1]s", fix: "use one of: %[4]s"},
	MisspeltOption:   {code: "HG008", message: "unknown option %[3]q of //hook:%[1]s; did you mean %[4]q?", fix: "%[5]s"},
	UnwantedValue:    {code: "HG008", message: "option %[3]s of //hook:%[1]s takes no value", fix: "%[3]s"},
	MissingValue:     {code: "HG008", message: "option %[3]s of //hook:%[1]s needs a value", fix: "%[3]s=…"},
	NoDuration:       {code: "HG008", message: "option %[3]s needs a positive duration, got %[4]q", fix: "%[3]s=30s"},
	NoNumber:         {code: "HG008", message: "option %[3]s needs a positive number, got %[4]q", fix: "%[3]s=65536"},
	NoWord:           {code: "HG008", message: "option %[3]s needs one of %[5]s, got %[4]q", fix: "%[6]s"},
	MissingWord:      {code: "HG008", message: "//hook:%[1]s needs %[3]s", fix: "add one of: %[4]s"},
	MissingArgument:  {code: "HG008", message: "//hook:%[1]s needs %[3]s", fix: "//hook:%[1]s %[4]s"},
	NotIgnorable:     {code: "HG008", message: "%[1]s cannot be ignored%[3]s", fix: "these can: %[4]s"},
	MixedTools: {
		code: "HG008", message: "%[1]s has //hook:tool methods, so its tools are static and its Dispatch is generated; dynamic and //hook:tools say otherwise",
		fix: "drop it, or write Schema and Dispatch by hand and drop //hook:tool",
	},
	UnknownType: {
		code: "HG008", message: "//hook:subsystem of %[1]s: there is no type %[3]s%[4]s",
		fix: "name a type of this package, or one with its package's name: skills.Skills",
	},

	InvalidField:     {code: "HG010", message: "field %[1]s has a type that is not valid"},
	InvalidEmbedded:  {code: "HG010", message: "embedded field %[1]s has a type that is not valid"},
	InvalidSignature: {code: "HG010", message: "the signature of %[2]s has a type that is not valid"},
	InvalidReceiver:  {code: "HG010", message: "the receiver of %[2]s has a type that is not valid"},
	InvalidInput:     {code: "HG010", message: "field %[3]s of %[1]s has a type that is not valid"},
	InvalidResult:    {code: "HG010", message: "%[1]s has a type that is not valid"},

	MisusedOptional: {
		code: "HG009", message: "optional on %[1]s: a value of type %[3]s is never nil",
		fix: "drop optional, or use a pointer",
	},
	NoMembers: {
		code: "HG011", message: "%[1]s has no subsystems: no field is a hook",
		fix: "add a field of a type that implements hook.Hook",
	},
	SubsystemNoHook: {
		code: "HG012", message: "%[1]s is declared a subsystem, but is no hook.Hook: it lacks %[3]s",
		fix: "embed hook.Nop in it",
	},
	WrongSignature: {code: "HG012", message: "%[3]s", fix: "%[4]s"},
	LooksLikePoint: {code: "HG013", message: "%[3]s", fix: "%[4]s, or put //hook:ignore HG013 above it"},
	AmbiguousPoint: {
		code: "HG014", message: "%[2]s of %[1]s is ambiguous: two embedded fields have it at the same depth",
		fix: "declare %[2]s on the type itself, or drop one of the fields",
	},
	HiddenPoint:  {code: "HG015", message: "field %[2]s of %[1]s hides the point of the same name", fix: "give the field another name"},
	PointerToNop: {code: "HG017", message: "%[3]s", fix: "%[4]s"},
	ForeignPointerToNop: {
		code: "HG017", message: "%[3]s",
		fix: "wrap it in a type that has all methods, or have it fixed where it is declared",
	},
	EmbeddedComposite: {
		code: "HG018", message: "%[3]s embeds the composite %[1]s, and its other methods and fields would be ignored",
		fix: "write a field name in front of %[4]s there, or make %[1]s the field",
	},
	PromotedPoint: {
		code: "HG018", message: "the embedded field %[3]s is no member, but promotes its point %[2]s to %[1]s",
		fix: "give the field a name, or declare %[2]s on %[1]s",
	},
	UnlistedTools: {
		code: "HG025", message: "%[1]s has //hook:tool methods, but package %[3]s has no list of them that this hookgen reads",
		fix: "run hookgen in that module, or require another version of it, or tag the field `hook:\"dynamic\"`",
	},
	NestedInItself: {code: "HG026", message: "composite %[1]s is nested in itself through field %[3]s", fix: "remove one of the fields"},
	AliasTarget: {
		code: "HG040", message: "//hook:%[3]s on %[1]s: methods cannot be generated for an alias",
		fix: "put the directive above the type itself",
	},
	LowercaseParameter: {
		code: "HG040", message: "//hook:%[3]s on %[1]s: type parameter %[4]s may collide with the names of parameters and variables",
		fix: "give it a name with a capital letter",
	},
	NamelessParameter: {
		code: "HG040", message: "the receiver of %[2]s has a type parameter without a name",
		fix: "name the type parameters of the receiver",
	},
	ParameterField: {
		code: "HG040", message: "field %[1]s has the type parameter %[3]s as its type: its points are not known",
		fix: "%[1]s hook.Hook",
	},
	ComposeCalled: {
		code: "HG050", severity: Info,
		message: "%[2]s is written by hand, so compose%[2]s is generated instead and called from there",
	},
	ComposeNotCalled: {
		code: "HG051", severity: Warning, message: "%[2]s is written by hand and does not call compose%[2]s, so it calls no member of %[1]s",
		fix: "call %[3]s.compose%[2]s in it, or put //hook:ignore HG051 above it",
	},
	NameTaken: {code: "HG053", message: "%[1]s is declared here, but the generated file declares it", fix: "give it another name"},
	ImportTaken: {
		code: "HG053", message: "%[1]s is imported here, but the generated file declares it",
		fix: "give the import another name",
	},
	FieldTaken: {
		code: "HG053", message: "field %[3]s of %[1]s has the name of a method that is generated",
		fix: "give the field another name",
	},
	ComposeTaken: {
		code: "HG053", message: "method Compose of %[1]s is written by hand, but it is generated for every composite",
		fix: "give it another name",
	},
	MethodTaken: {
		code: "HG053", message: "%[2]s of %[1]s is written by hand, but its //hook:tool methods generate it",
		fix: "delete it, or drop //hook:tool and list the tools in //hook:tools",
	},
	ConstantShared: {
		code: "HG053", message: "the tools %[3]s and %[1]s both need the constant %[4]s",
		fix: "give one of them another name:  //hook:tool name=…",
	},
	ConstantTaken: {
		code: "HG053", message: "tool %[1]s needs the constant %[3]s, which is generated for %[4]s",
		fix: "give the tool another name:  //hook:tool name=…",
	},
	CompositeTool: {
		code: "HG053", message: "%[1]s is a composite: its tools are those of its members, so it cannot have %[3]s itself",
		fix: "declare the tool on a subsystem of its own, and make that a field of %[1]s",
	},
	CopiedMembers: {
		code: "HG054", severity: Warning, message: "%[2]s has %[1]s as a value, so it acts on a copy of %[3]s, whose methods want a pointer",
		fix: "func (%[4]s *%[1]s) %[2]s, or make %[3]s a pointer",
	},

	DuplicateTool: {
		code: "HG020", message: `tool "%[1]s" is provided by both %[3]s and %[4]s`,
		fix: "give one of them another name:  //hook:tool name=…",
	},
	BadToolName:   {code: "HG022", message: "tool name %[1]q is not valid: want %[3]s", fix: "//hook:tool name=…"},
	BadListedName: {code: "HG022", message: "tool name %[1]q is not valid: want %[3]s", fix: "use 1 to 64 letters, digits, _ or -"},
	NoToolSignature: {
		code: "HG030", message: "(%[1]s).%[2]s cannot be a tool: its signature is not that of a tool",
		fix: "change the signature, or drop //hook:tool",
	},
	UndescribedTool: {
		code: "HG031", severity: Warning, message: "tool %[1]s has no doc comment: the model sees no description",
		fix: "describe the tool in a comment above %[2]s",
	},
	ParametricInput: {
		code: "HG041", message: "the arguments of %[2]s depend on a type parameter, so they have no schema",
		fix: "take what all instances have in common, and convert it in the method; or declare a type around one instance that has the tool",
	},

	UndescribedField: {
		code: "HG032", severity: Warning, message: "field %[3]s of %[1]s has no description",
		fix: "describe in a comment above the field what the model should put there",
	},
	UnknownJSONOption: {
		code: "HG033", message: "unknown json option %[3]q of field %[1]s%[4]s",
		fix: "the options are omitempty, omitzero and string",
	},
	QuotedKind: {
		code: "HG033", message: "json option string is for numbers and booleans, %[1]s is %[3]s",
		fix: "remove string from the json tag",
	},
	BadJSONName: {
		code: "HG033", message: "JSON name %[3]q of field %[1]s is not valid: want %[4]s, which all providers accept",
		fix: `write a name of at most 64 letters, digits, _, . or - in the json tag: json:"title"`,
	},
	BadInputTag: {
		code: "HG033", message: "hook tag of %[1]s: %[3]s",
		fix: `write words between commas, and a value with a comma in single quotes: hook:"maxlen=80"`,
	},
	RepeatedConstraint: {
		code: "HG033", message: "%[3]s stands twice in the tag of %[1]s",
		fix: "delete one of them",
	},
	UnusedDefault: {
		code: "HG033", message: "field %[1]s is required, so its default is never used",
		fix: "drop required or default",
	},
	OpenAndEnum: {
		code: "HG033", message: "open and enum of %[1]s say opposite things: use one of them",
		fix: "drop one of them",
	},
	UnknownConstraint:  {code: "HG033", message: "unknown constraint %[3]q", fix: "the words are %[4]s"},
	MisspeltConstraint: {code: "HG033", message: "unknown constraint %[3]q; did you mean %[4]q?", fix: "%[5]s"},
	ConstraintNoValue: {
		code: "HG033", message: "constraint %[3]s needs a value: %[3]s=…",
		fix: "%[3]s=…",
	},
	ConstraintValue: {
		code: "HG033", message: "constraint %[3]s takes no value",
		fix: "%[3]s",
	},
	ConstraintKind: {code: "HG033", message: "%[3]s is for %[4]s, %[1]s is %[5]s", fix: "drop it"},
	ConstraintOnQuoted: {
		code: "HG033", message: "%[3]s is for numbers, %[1]s is written in quotes, which no schema can bound",
		fix: "drop the json option string, or check the value in the method",
	},
	OpenNoConstants: {
		code: "HG033", message: "open is for types with constants, %[1]s is %[3]s",
		fix: "drop open",
	},
	UnknownFormat:  {code: "HG033", message: "unknown format %[3]q", fix: "the formats are %[4]s"},
	MisspeltFormat: {code: "HG033", message: "unknown format %[3]q; did you mean %[4]q?", fix: "format=%[4]s"},
	NoCount:        {code: "HG033", message: "%[3]s of %[1]s: %[4]q is no count of at least 0", fix: "%[3]s=80"},
	BadLimit:       {code: "HG033", message: "%[3]s of %[1]s: %[4]s", fix: "write a number that %[5]s has, as in %[3]s=10"},
	BadPattern: {
		code: "HG033", message: "pattern of %[1]s: %[3]s",
		fix: "write a regular expression: pattern=^[a-z]+$",
	},
	GoOnlyPattern: {
		code: "HG033", message: "pattern of %[1]s: %[3]s means something else in the regular expressions of JSON Schema, or nothing",
		fix: `write it with ^, $, classes such as [a-z], \d, \w, and (?:…)`,
	},
	BadEnum: {
		code: "HG033", message: "enum of %[1]s: %[3]s",
		fix: "write the allowed values with | between: enum=low|high",
	},
	RepeatedEnum: {
		code: "HG033", message: "enum of %[1]s: %[3]s stands twice",
		fix: "delete one of them",
	},
	EnumNoConstant: {
		code: "HG033", message: "enum of %[1]s: %[3]s is no constant of %[4]s",
		fix: "name constants of %[4]s, or drop enum",
	},
	BadExample: {
		code: "HG033", message: "%[3]s of %[1]s: %[4]s",
		fix: "write a value that the field may have, or drop %[3]s",
	},
	DefaultOnPointer: {
		code: "HG033", message: "%[3]s of %[1]s: a pointer has no default: nil means that nothing was given",
		fix: "drop default, or make the field a value",
	},
	CrossedLimits: {
		code: "HG033", message: "the limits of %[1]s allow no value: the minimum is above the maximum",
		fix: "exchange or widen the limits",
	},
	EmbeddedPointer: {
		code: "HG034", message: "field %[3]s of %[1]s: a struct embedded by pointer cannot be in a tool input",
		fix: "embed it by value, or give it a name",
	},
	TooManyFields: {
		code: "HG034", message: "%[1]s has %[3]s fields, a tool input has at most %[4]s",
		fix: "put fields that belong together into a struct of their own",
	},
	PointerToPointer: {
		code: "HG034", message: "field %[3]s of %[1]s: a pointer to a pointer cannot be in a tool input",
		fix: "use a pointer to the value itself",
	},
	UnexportedType: {
		code: "HG034", message: "field %[3]s of %[1]s: generated code of %[4]s cannot name %[5]s, which is not exported by its package",
		fix: "use a type that this package can name",
	},
	ProgramType: {
		code: "HG034", message: "field %[3]s of %[1]s: generated code of %[4]s cannot name %[5]s, which is declared in a program",
		fix: "use a type that this package can name",
	},
	InternalType: {
		code: "HG034", message: "field %[3]s of %[1]s: generated code of %[4]s cannot name %[5]s, which is internal to another part of its module",
		fix: "use a type that this package can name",
	},
	ImpossibleInput: {
		code: "HG034", message: "field %[3]s of %[1]s: %[4]s cannot be in a tool input",
		fix: "leave it out with `json:\"-\"`, or use strings, numbers, structs, slices, maps from strings",
	},
	ImpossibleArray: {
		code: "HG034", message: "field %[3]s of %[1]s: %[4]s cannot be in a tool input",
		fix: "use a slice, with minitems= and maxitems= in the tag",
	},
	ImpossibleBasic: {
		code: "HG034", message: "field %[3]s of %[1]s: %[4]s cannot be in a tool input",
		fix: "leave it out with `json:\"-\"`, or use a string, a number or a bool",
	},
	ImpossibleResult: {
		code: "HG034", message: "%[1]s: %[3]s cannot be written as JSON, so every call would fail",
		fix: "leave it out with `json:\"-\"`, or return something else",
	},
	FieldDecodesItself: {
		code: "HG035", message: "field %[3]s of %[1]s: %[4]s has its own %[2]s, so its JSON is not known here",
		fix: `describe above the field or the type what it reads:  //hook:schema {"type":"string"}`,
	},
	InputDecodesItself: {
		code: "HG035", message: "the input %[1]s of %[3]s has its own %[2]s, which generated code does not call",
		fix: "give the method a struct without it; a field may be of such a type",
	},
	InputTooDeep: {
		code: "HG036", message: "%[1]s lies more than %[3]s objects deep: models lose track of it",
		fix: "lift the inner fields into an outer struct",
	},
	RecursiveInput: {
		code: "HG036", message: "type %[1]s refers to itself (%[3]s): tool inputs must be finite",
		fix: "use json.RawMessage for the field, or leave it out with `json:\"-\"`",
	},
	AnyInput: {
		code: "HG037", severity: Warning, message: "field %[1]s is %[3]s: the model may send anything",
		fix: "give the field a type that says what it may hold, or put //hook:ignore HG037 above it",
	},
	DuplicateJSONName: {
		code: "HG038", message: "two fields of %[1]s have the JSON name %[3]q (%[4]s and %[5]s)",
		fix: "give one of them another name in its json tag",
	},
	SimilarJSONName: {
		code: "HG038", message: "two fields of %[1]s have JSON names that differ only in case: %[3]q (%[4]s and %[5]s)",
		fix: "give one of them another name in its json tag",
	},
	TaggedUnexported: {
		code: "HG039", message: "unexported field %[3]s of %[1]s has a %[4]s tag and is never set",
		fix: "begin its name with a capital letter, or drop the tag",
	},
	AllUnexported: {
		code: "HG039", message: "field %[3]s of %[1]s is unexported, as all of its fields are: none is ever set",
		fix: "begin its name with a capital letter, or let the tool take no arguments",
	},
	BadSchema:       {code: "HG048", message: "the schema %[3]s", fix: `write it as  //hook:schema {"type":"string"}`},
	MisspeltKeyword: {code: "HG048", message: "the schema %[3]s", fix: "//hook:schema %[4]s"},
	UnusedSchema: {
		code: "HG048", message: "//hook:schema on %[1]s has no effect: the type does not decode itself",
		fix: "delete it, or write UnmarshalJSON or UnmarshalText",
	},
	UnusedFieldSchema: {
		code: "HG048", message: "//hook:schema above field %[3]s of %[1]s has no effect: %[4]s does not decode itself",
		fix: "delete the directive, and put constraints into the hook tag",
	},
	SchemaNoString: {
		code: "HG048", message: "field %[3]s of %[1]s: %[4]s has an UnmarshalText, which reads strings, and //hook:schema says something else",
		fix: `//hook:schema {"type":"string"}`,
	},

	NoGeneratedMethods: {code: "HG080", message: "%[1]s is marked //hook:composite, but has no generated methods", fix: regenerate},
	NoGeneratedTools:   {code: "HG080", message: "%[1]s has //hook:tool methods, but no generated Schema and Dispatch", fix: regenerate},
	StaleComposite: {
		code: "HG081", message: "%[3]s of this package is out of date: the fields, tags, points or tools of %[1]s have changed since",
		fix: regenerate,
	},
	StaleSubsystem: {
		code: "HG081", message: "%[3]s of this package is out of date: the points or tools of %[1]s have changed since",
		fix: regenerate,
	},
	CopiedComposite: {
		code: "HG082", message: "%[1]s is %[3]s: the copy has its own %[4]s, which misses what the original is told",
		fix: "use a *%[1]s",
	},
	MissingMember: {
		code: "HG083", message: "%[1]s is made without %[3]s, which is required: Ready fails",
		fix: "%[3]s: …, or tag the field `hook:\"optional\"`",
	},
	KeptStored: {
		code: "HG084", message: "%[2]s stores its %[1]s beyond the call: it is valid for one call only, and keeps the history of the conversation in memory",
		fix: "keep what is needed of it, such as its ID",
	},
	KeptSent: {
		code: "HG084", message: "%[2]s sends its %[1]s beyond the call: it is valid for one call only, and keeps the history of the conversation in memory",
		fix: "keep what is needed of it, such as its ID",
	},
	UnknownTool: {
		code: "HG085", message: "%[1]s has no tool %[3]q, so Dispatch returns false%[4]s",
		fix: "use the generated constant of the tool's name",
	},
	SleepingObserver: {
		code: "HG086", severity: Warning, message: "OnEvent sleeps, and the conversation waits for it",
		fix: "do it on a goroutine of the subsystem's own",
	},
	BlockingSend: {
		code: "HG086", severity: Warning, message: "OnEvent may block in a send, and the conversation waits until somebody receives",
		fix: "select { case %[3]s <- …: default: }, or case <-ctx.Done():",
	},
	ReenteredComposite: {
		code: "HG087", message: "%[2]s calls %[3]s of %[1]s, whose member %[4]s it is: the composite calls it again",
		fix: "ask the runtime through the Host of the place, or call the other member itself",
	},
	UnlistedNames: {
		code: "HG088", severity: Info, message: "the tools of %[1]s are known only at run time, so a composite asks it for every name that no other member has",
		fix: "//hook:tools NAMES above the type, or //hook:subsystem dynamic if they really are known only then",
	},
}
