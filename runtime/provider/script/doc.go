// Package script is a provider without a model: rules in a file choose text and tool
// calls by the conversation so far. The demo, the examples and the tests use it, and so
// can any program that runs an agent without a key. It does not simulate a model: it
// only plays its rules.
//
//	rules:
//	  - when: {user: {matches: 'remember that (?P<fact>.+)'}, step: 1}
//	    say: I will keep that in mind.
//	    calls:
//	      - {tool: remember, args: {name: note, content: "${fact}"}}
//	  - when: {result: remember}
//	    say: "Done: ${result:remember}"
//	  - when: always
//	    say: I have nothing to say to that.
//
// # Choosing a rule
//
// The first rule whose conditions all hold answers. A script keeps no state: the same
// conversation always gets the same answer, also after a restart, and any number of
// conversations may use one script at the same time. If no rule answers, the error
// (ErrNoRule) says for every rule why not.
//
//	when:
//	  user:     TEXT     the user's last message
//	  system:   TEXT     the system prompt
//	  context:  TEXT     what hooks have put beside the conversation
//	  model:    TEXT     the id of the model that is asked for
//	  result:   RESULT   a tool result of this turn; a list: each of them is there
//	  tools:    [NAME]   these tools are offered
//	  no_tools: [NAME]   none of these tools is offered
//	  turn:     N        this is turn N of the conversation, counted from 1
//	  step:     N        this is model call N of the turn
//	  call:     N        this is model call N of the conversation
//	when: always         holds always
//
// TEXT is a text that must be contained, or {contains: …, equals: …, matches: …}
// with one or more of them; matches is a regular expression (package regexp).
// Case counts. RESULT is a tool's name, or {tool: …, failed: true|false} with
// the keys of a TEXT; everything may be left out.
//
// A rule without when is part of a sequence: the n-th of them answers model call n of the
// conversation, like call: n. Every model call counts, also those that other rules have
// answered. In a script with both kinds, give the others turn and step.
//
// After the tool calls of a rule, the same rule may answer again. Give it step: 1, or put
// the rule for the result before it.
//
// # Answering
//
//	say:    text, streamed word by word
//	reason: reasoning, streamed before it
//	calls:  tool calls: {tool: NAME, args: {…}, id: ID}. Without an id one is
//	        made of the position in the conversation. raw: TEXT in the place of
//	        args is sent as it is, well-formed or not
//	finish: stop, tool_calls, length, content_filter or other. Without it
//	        tool_calls if there are calls, else stop. none ends the stream
//	        without a finish, as a cut connection does
//	error:  text; the stream ends with this error after what the rule says. Or
//	        {text: …, class: CLASS, retry_after: 2s}: an error of that class, which
//	        is one of message.FailureClass (rate_limit, overloaded, network, …), and
//	        how long the model asks to wait
//	usage:  {input: N, output: N, cache_read: N, cache_write: N, reasoning: N};
//	        without it an estimate of four bytes a token
//	pace:   a duration to wait between deltas (20ms), or {wait: 1s, delta: 20ms,
//	        bytes: 8}: wait before the first one, and cut into pieces of so many
//	        bytes instead of words. At the top of the file: for all rules
//	name:   what errors call the rule
//	format: at the top of the file: true is a model with a response format of
//	        its own, so that JSON is not asked for by the tool final_answer
//	context_window: at the top of the file: the window in tokens that the agents
//	        of this model have; the script answers requests of any size
//
// say, reason and the texts in args may have references: ${user} is the
// user's last message, ${result:NAME} the newest result of that tool in this
// turn, ${result} the newest of any tool, ${NAME} a named group of one of the
// rule's expressions and ${1} a numbered one, where the rule has only one
// expression. $${ is a plain ${.
//
// The format is strict: an unknown key, a wrong type, an expression that does
// not compile or a reference to nothing is an error with its line, and all of
// them are reported at once.
package script
