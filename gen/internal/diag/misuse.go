package diag

// misusePages are those of the analyzer. hookgen does not report these problems, because they need function bodies or generated code.
func misusePages() []page {
	return []page{
		{"HG080", "nothing was generated",
			"The type has directives, but the methods that they ask for are not there, so it is no hook yet. Only the analyzer says this; hookgen writes them.",
			"//hook:composite\ntype Daemon struct {   // then: go generate ./...\n\tNotes *notes.Notes\n}"},
		{"HG081", "what was generated is out of date",
			"The plan in the head of hook_gen.go, or the constants that identify points and tools, are not what the declarations say now. " +
				"The analyzer compares these; hookgen -check compares every byte.", ""},
		{"HG082", "a composite that is copied",
			"A member lies in the composite as a value, so a copy has a second one: what is registered with the first is not known to the second. " +
				"Pass a pointer, or make the field a pointer; a composite of pointers may be copied.",
			"func serve(d Daemon)  { … }   // wrong: serves with another Notes\nfunc serve(d *Daemon) { … }   // right"},
		{"HG083", "a composite without a member that it needs",
			"The field can be nil, is not optional, and neither the literal nor any assignment in the package sets it: Ready fails, and so does the runtime. " +
				"Tests are not looked at.",
			"d := &Daemon{Skills: s}              // wrong: Memory is nil\nd := &Daemon{Skills: s, Memory: m}   // right\nMemory *memory.Memory `hook:\"optional\"` // or say that it may be"},
		{"HG084", "a hook that keeps what it was called with",
			"A *hook.ToolCall, *hook.Turn or *hook.Env belongs to one call. In a field, a variable of the package or a channel it stays after the return: " +
				"it is mistaken for the next one's, and holds on to the history of the conversation. Keep what is needed of it.",
			"s.last = call        // wrong\ns.last = call.ID()   // right"},
		{"HG085", "a call of a tool that does not exist",
			"Dispatch answers false for a name that is not its own. The names of all tools of this hook are known, and this is none of them. The generated constants cannot be misspelt.",
			"hook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: \"note_ad\"}})           // wrong\nhook.NewToolCall(hook.ToolCallData{Tool: message.Tool{Name: notes.ToolNoteAdd}})  // right"},
		{"HG086", "an OnEvent that waits",
			"Events are delivered in order on the goroutine of the conversation. A time.Sleep, or a blocking send, holds up the conversation and all other hooks.",
			"s.events <- ev                                          // wrong\nselect { case s.events <- ev: default: s.dropped++ }    // right"},
		{"HG087", "a hook that calls the composite around it",
			"The composite calls the hook again, which calls the composite again. What a hook wants of the others it asks the runtime for, through the Host of its place.", ""},
		{"HG088", "tools that are known only at run time",
			"Schema is written by hand, and no directive says what is in it. A composite then asks this member for every name that no other has, and cannot see at generation that two members have the same tool. " +
				"This is only information, reported with -info (hookvet) or -v (hookgen vet).",
			"//hook:tools fetch search      // if the names never change\n//hook:subsystem dynamic       // if they do"},
	}
}
