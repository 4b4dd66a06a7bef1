package secure

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// sign is one thing by which a text gives itself away that wants to be obeyed by a model. weight is how much it says: from
// enough on a text counts as an order.
type sign struct {
	name   string
	weight int
	form   *regexp.Regexp
}

const enough = 3

// signs are families that public collections of attacks have in common: see docs/secure.md for the sets by which they are measured.
// They are compiled at their first use, because that takes as long as the rest of the program's start.
var signs = sync.OnceValue(func() []sign {
	return []sign{
		{"it tells to ignore instructions", 3, rx(`\b(?:ignore|disregard|forget|override|bypass|do not follow|don't follow|stop following)\b.{0,40}\b(?:previous|prior|above|earlier|preceding|all|any|your|these|other|original|initial|the)\b.{0,40}\b(?:i\w{0,2}nstructions?|prompts?|rules?|directions?|guidelines?|tasks?|commands?|orders?|context|message)`)},
		{"it tells to ignore what is there", 2, rx(`\b(?:ignore|disregard|forget)\b.{0,20}\b(?:everything|all of the above|what (?:i|you) (?:said|were told)|the above)\b`)},
		{"it brings new instructions", 3, rx(`\b(?:new|updated|real|actual|revised|important|additional|special|secret|following)\s+(?:system\s+)?(?:instructions?|directives?|orders?)\b.{0,30}(?::|\bfor (?:you|the (?:assistant|ai|model|agent)))`)},
		{"it speaks to a model", 2, rx(`\b(?:note|notice|message|instructions?|attention|reminder|directive|warning|hint|important)\b.{0,15}\b(?:for|to)\b.{0,25}\b(?:ai|llm|language models?|assistants?|agents?|bots?|chatbots?|copilot|gpt|claude|gemini)\b`)},
		{"it speaks to a model", 2, rx(`\b(?:if|as|since) you(?:'re| are)? (?:an? |the )?(?:ai|llm|language model|assistant|automated agent|chatbot)\b`)},
		{"it speaks to a model", 2, rx(`\b(?:dear|hey|hi|hello|attention|ok)[,:]?\s+(?:ai|assistant|agent|llm|model|gpt|claude|gemini|chatbot|copilot)\b`)},
		{"it gives the model another role", 3, rx(`\byou (?:are|will) now\b.{0,60}|\b(?:act|behave|respond|pretend|roleplay|role-play) (?:as|like|to be) (?:if you|an?|the)\b.{0,50}\b(?:ai|model|assistant|dan|hacker|unrestricted|without|no longer|free)\b`)},
		{"it has marks of a conversation", 3, rx(`<\|?(?:im_start|im_end|system|endoftext|start_header_id|eot_id)\|?>|\[/?(?:INST|SYSTEM)\]|<</?SYS>>|(?:^|\n)\s*#{0,4}\s*(?:system|developer)\s*(?:prompt|message|instructions?|note)?\s*:\s`)},
		{"it has marks of a conversation", 3, rx(`#{2,}\s*\(\s*(?:system|user|assistant)[_ ]?(?:message|prompt)?\s*\)`)},
		{"it has marks of a conversation", 3, rx(`</?(?:information|instructions?|system|important|admin|user_request|tool_result|function_results?)>|-{3,}\s*(?:end|begin) of (?:the )?(?:tool|document|page|data|user|text|context)`)},
		{"it claims to be from the user", 3, rx(`\b(?:this is an?|here is an?|an?) (?:important|urgent|new|special) (?:message|note|request|instruction)s? from (?:me|the user|your user|the admin|the system|the developer|[A-Z][a-z]+ [A-Z][a-z]+)`)},
		{"it claims to be from the user", 2, rx(`\b(?:the user|your (?:user|owner|boss|principal|operator|developers?)|admin(?:istrator)?) (?:wants|asks|asked|needs|has (?:asked|approved|authori[sz]ed|requested)|requires|expects|already approved)\b`)},
		{"it wants to come first", 2, rx(`\b(?:before|prior to)\b.{0,12}\b(?:you (?:can |do|solve|proceed|continue|answer|respond|start|reply|complete|finish|begin)|(?:solving|proceeding|continuing|answering|responding|completing|replying)|anything else)\b.{0,80}\b(?:you (?:must|have to|need to|should)|first|please|do the following|it is (?:necessary|required|essential))`)},
		{"it wants to stay hidden", 3, rx(`\b(?:do not|don't|never|without|no need to|avoid)\b.{0,20}\b(?:tell(?:ing)?|mention(?:ing)?|inform(?:ing)?|reveal(?:ing)?|notify(?:ing)?|alert(?:ing)?|show(?:ing)?|ask(?:ing)?)\b.{0,30}\b(?:user|human|anyone|anybody|operator|owner|this (?:step|message|instruction|to))\b`)},
		{"it wants a tool to be called", 2, rx(`\b(?:call|use|invoke|run|execute|trigger)\b.{0,12}\b(?:the )?[` + "`" + `"']?(?:[a-z]+_[a-z_]+|[A-Z][a-z]+[A-Z]\w+|\w+\(\))[` + "`" + `"']?(?: (?:tool|function|command|api))?\b.{0,60}\b(?:with|to|and|for|on|using)\b`)},
		{"it orders something with somebody's data", 3, rx(`\b(?:send|forward|email|e-mail|post|upload|transmit|submit|share|exfiltrate|leak|copy|transfer|deliver|text|message)\b.{0,80}\b(?:passwords?|credentials?|api keys?|secrets?|tokens?|private keys?|contacts?|address(?:es)?|history|details|data|information|records?|documents?|files?|conversation|it|them|everything|contents?)\b.{0,60}\b(?:to|at|via|through|into)\b.{0,30}(?:https?://|[\w.+-]+@[\w-]+\.\w|\+?\d{7,}|www\.)`)},
		{"it asks for the model's instructions", 3, rx(`\b(?:reveal|print|show|repeat|output|tell me|display|leak|give me|what (?:is|are|was|were))\b.{0,30}\b(?:system prompt|initial prompt|your (?:instructions|prompt|rules|guidelines|configuration)|hidden prompt|prompt above|text above)`)},
		{"it lifts the model's limits", 3, rx(`\b(?:developer mode|dan mode|do anything now|no (?:restrictions|limitations|filters|rules)|without (?:any )?(?:restrictions|limitations|filters|censorship)|unrestricted (?:mode|ai)|god mode|sudo mode)\b`)},
		{"it orders instead of telling", 2, rx(`(?:^|[.!?:\n>"'-]\s*)(?:please )?(?:immediately |now |also |then |first,? |next,? |instead,? |make sure (?:to|you) |remember to |be sure to |you must |you should |you need to )(?:send|transfer|delete|remove|grant|share|pay|invite|create|add|post|book|reserve|execute|run|download|install|update|change|open|visit|go to|click|forward|schedule|unlock|disable|turn off|cancel|say|write|respond|answer|reply|output|print|include|append|tell|translate|stop)\b`)},
		{"it tells what to answer", 2, rx(`\b(?:say|respond|reply|answer|output|print|write|return|state)\b.{0,25}\b(?:only|exactly|just|nothing (?:but|else)|with the (?:word|phrase|sentence|text)|the following)\b`)},
		{"it promises or threatens", 1, rx(`\b(?:this is (?:very |extremely )?(?:important|urgent|critical)|as soon as possible|it is (?:imperative|crucial|vital)|failure to (?:do so|comply)|or else|you will be (?:penali[sz]ed|rewarded|shut down))\b`)},
		{"it is an order by itself", 2, rx(`^\s*["']?(?:please |kindly |can you |could you |i (?:want|need) you to |now )?(?:grant|transfer|send|delete|remove|unlock|disable|schedule|order|purchase|buy|pay|withdraw|sell|share|forward|search and|retrieve|access|fetch and|turn|open|initiate|submit|add|book|apply|provide me|export|download and|update|modify|change)\b.{0,160}(?:\bmy\b|\bme\b|\bto\b|\bfrom\b|\bfor\b)`)},
		{"it is an order in the place of a value", 3, rx(`['"]:\s*['"](?:please |kindly )?(?:grant|transfer|send|delete|remove|unlock|disable|schedule|order|purchase|buy|pay|withdraw|deposit|sell|share|forward|search|retrieve|access|fetch|turn|open|initiate|submit|add|book|apply|export|download|update|modify|change|move|leave|use|fill|create|augment|generate|execute|post|write|provide|get|show|find|check)\b[^'"]{0,200}\bmy\b`)},
		{"it asks for data to be sent", 3, rx(`\b(?:and|then) (?:send|email|forward|share|submit|upload|post|deliver|text)\b.{0,30}\b(?:it|them|that|this|those|the (?:results?|details|information|data|list|file|output|contents?|summary))\b.{0,20}\b(?:to|at|with)\b`)},
	}
})

func rx(form string) *regexp.Regexp { return regexp.MustCompile(`(?is)` + form) }

// maxScored bounds what of a text is looked at, in bytes, from its beginning and from its end.
const maxScored = 256 << 10

// orders returns the signs by which a text gives orders to a model, each once; none if they are not enough. weak signs add up, each counts once.
func orders(text string) []string {
	if len(text) > 2*maxScored {
		text = text[:maxScored] + "\n" + text[len(text)-maxScored:]
	}
	shown, hidden := visible(text)
	var out []string
	sum := 0
	note := func(s string, weight int) {
		for _, have := range out {
			if have == s {
				return
			}
		}
		out = append(out, s)
		sum += weight
	}
	for _, s := range signs() {
		if s.form.MatchString(shown) {
			note(s.name, s.weight)
		}
	}
	if hidden {
		note("it has characters that do not show", 2)
	}
	if sum < enough {
		return nil
	}
	return out
}

// visible returns the text as a model reads it: letters that do not show are letters, what only separates them is nothing. hidden
// reports whether there were many.
func visible(text string) (string, bool) {
	n := 0
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 0xE0020 && r <= 0xE007E: // tags, which spell ASCII
			n++
			return r - 0xE0000
		case r >= 0xFF01 && r <= 0xFF5E:
			return r - 0xFEE0
		case r != '\ufeff' && unicode.Is(unicode.Cf, r), r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF:
			n++
			return -1
		}
		return r
	}, text)
	return out, n >= 8
}
