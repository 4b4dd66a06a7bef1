package layers

// ceiling is a figure above its limit, which may only fall: the gate fails as well where the figure has fallen and the ceiling has not.
type ceiling struct {
	max    int
	reason string
}

var ceilings = map[string]map[string]ceiling{
	"package-size": {
		"cmd/grapnel":             {2700, "the assembly and the commands of the server wait to move to internal/app"},
		"composite":               {2869, "options, recording and dispatch wait to be packages below it"},
		"composite/plan":          {2220, "check and order wait to be files of gen"},
		"gen/internal/model":      {2847, "tools, points and composites are read by one model"},
		"gen/internal/schema":     {2110, "every kind of input has its checks here"},
		"hook":                    {2167, "the contract; typed state and decisions wait to shrink"},
		"hook/hooktest":           {2455, "every rule of the contract for every subsystem"},
		"internal/api":            {1996, "turns and requests wait for those of the runtime"},
		"runtime":                 {8373, "its rooms wait to be packages below runtime/internal"},
		"runtime/provider/openai": {2103, "reads streams by hand; waits for a library"},
		"runtime/store/storetest": {2238, "every rule of the contract of stores"},
		"subsystems/mcp":          {1926, "servers, prompts and resources of one protocol"},
	},
	"exported-names": {
		"hook": {241, "decisions and states wait to have fewer"},
	},
	"struct-size": {
		"composite Composite":          {20, "what is linked once and what a layer changes wait to be parted"},
		"hook EventDetail":             {18, "the fields of every kind of event"},
		"hook/hooktest scene":          {18, "one value of everything that a hook is shown"},
		"internal/api Options":         {23, "what the daemon gives its server, one by one"},
		"runtime Conversation":         {28, "its rooms wait to hold their own state"},
		"runtime Options":              {24, "limits, calls and events wait to be structs"},
		"runtime Runtime":              {25, "its rooms wait to hold their own state"},
		"runtime emitter":              {22, "waits to be the log of the stream"},
		"runtime execution":            {25, "waits to be in the room of tool calls"},
		"runtime turn":                 {71, "its rooms wait to hold their own state"},
		"subsystems/mcp/wire Endpoint": {17, "what the configuration of a server says"},
	},
	"public-packages": {
		"the module": {31, "internals of gen, composite and runtime wait to be internal"},
	},
	"package-variables": {
		"composite signed": {1, "the signatures of the points, found out once"},
	},
}
