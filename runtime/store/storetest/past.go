package storetest

var (
	compactRules []rule
	forkRules    []rule
	childRules   []rule
	portRules    []rule
)
