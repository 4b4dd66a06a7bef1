package diag

// Cause is a kind of problem. A table in this package has its code, severity and text.
type Cause int

const (
	// The planner's problems: package composite/plan makes their text.
	Planner Cause = iota
	PlannerField
	PlannerTag
	PlannerPolicy
	PlannerTagForm
	PlannerTagKey
	PlannerOptions

	// Packages and files.
	OldGo
	OldContract
	NoPackage
	MisspeltPackage
	NoPackages
	GoListFails
	Untidy
	FileAsPackage
	Unparsable
	DirectiveInTest
	DirectiveExcluded
	OtherModule
	ForeignOutput
	OutputNoFile
	PackageExists
	ToolsMissing
	FieldNotAdded
	OutputStale
	OutputMissing
	OutputOrphaned
	PictureStale
	PictureMissing
	OutputBroken
	DraftBroken

	// Directives.
	UnknownDirective
	MisspeltDirective
	NoDirective
	OtherPrefix
	PlainBlock
	PlainSign
	PlainBlank
	PlainCase
	PlainColon
	Misplaced
	MisplacedNowhere
	MisplacedInFunction
	MisplacedOnGroup
	MisplacedOnField
	PointElsewhere
	PointShape
	MissingPoint
	RepeatedDirective
	ExclusiveDirectives
	UnreadableOptions
	RepeatedOption
	UnexpectedOption
	UnknownOption
	MisspeltOption
	UnwantedValue
	MissingValue
	NoDuration
	NoNumber
	NoWord
	MissingWord
	MissingArgument
	NotIgnorable
	MixedTools
	UnknownType

	// Types that do not type-check.
	InvalidField
	InvalidEmbedded
	InvalidSignature
	InvalidReceiver
	InvalidInput
	InvalidResult

	// Hooks and composites.
	MisusedOptional
	NoMembers
	SubsystemNoHook
	WrongSignature
	LooksLikePoint
	AmbiguousPoint
	HiddenPoint
	PointerToNop
	ForeignPointerToNop
	EmbeddedComposite
	PromotedPoint
	UnlistedTools
	NestedInItself
	AliasTarget
	LowercaseParameter
	NamelessParameter
	ParameterField
	ComposeCalled
	ComposeNotCalled
	NameTaken
	ImportTaken
	FieldTaken
	ComposeTaken
	MethodTaken
	ConstantShared
	ConstantTaken
	CompositeTool
	CopiedMembers

	// Tools.
	DuplicateTool
	BadToolName
	BadListedName
	NoToolSignature
	UndescribedTool
	ParametricInput

	// Inputs and results of tools.
	UndescribedField
	UnknownJSONOption
	QuotedKind
	BadJSONName
	BadInputTag
	RepeatedConstraint
	UnusedDefault
	OpenAndEnum
	UnknownConstraint
	MisspeltConstraint
	ConstraintNoValue
	ConstraintValue
	ConstraintKind
	ConstraintOnQuoted
	OpenNoConstants
	UnknownFormat
	MisspeltFormat
	NoCount
	BadLimit
	BadPattern
	GoOnlyPattern
	BadEnum
	RepeatedEnum
	EnumNoConstant
	BadExample
	DefaultOnPointer
	CrossedLimits
	EmbeddedPointer
	TooManyFields
	PointerToPointer
	UnexportedType
	ProgramType
	InternalType
	ImpossibleInput
	ImpossibleArray
	ImpossibleBasic
	ImpossibleResult
	FieldDecodesItself
	InputDecodesItself
	InputTooDeep
	RecursiveInput
	AnyInput
	DuplicateJSONName
	SimilarJSONName
	TaggedUnexported
	AllUnexported
	BadSchema
	MisspeltKeyword
	UnusedSchema
	UnusedFieldSchema
	SchemaNoString

	// Problems that only the analyzer finds.
	NoGeneratedMethods
	NoGeneratedTools
	StaleComposite
	StaleSubsystem
	CopiedComposite
	MissingMember
	KeptStored
	KeptSent
	UnknownTool
	SleepingObserver
	BlockingSend
	ReenteredComposite
	UnlistedNames
)
