// Package conversation has no code: its tests hold one conversation over the wires of all
// vendors. A real runtime asks the module's adapters, the adapters ask the strict servers of
// package strictwire, and one script says what the models behind the servers answer: plain
// texts, one tool and several, signed reasoning, a failing tool, images, a PDF, a refusal,
// failures of the server and a cut answer, with a compaction in between.
//
//   - TestOneConversation stays on one wire, switches once from each wire to each other, or
//     asks another vendor in every turn.
//   - TestOneConversationOfTheProgram asks through internal/models, over connections.
//   - TestTheFirstPartOfRequestsStays compares each of the requests of twenty turns with the
//     one before.
//   - TestFallbackWithinATurn switches while tools run.
//   - TestDrawnConversations draws turns, models, compactions and fallbacks; users stop turns
//     and say more while tools run.
//   - TestAConversationThatIsReadAgain restarts the program within the conversation.
//   - TestBadAdapters breaks adapters on purpose: the checks must find each of them.
//
// The checks look at the bodies of the requests: the servers refuse none; all that was said is
// there once and in its order; reasoning goes back to the model that signed it, and to no other.
package conversation
