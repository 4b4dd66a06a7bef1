package aliases_test

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/aliases"
)

var update = flag.Bool("update", false, "write docs/aliases.md")

// triggers are the names of the five designs and of the agents whose hooks are
// common, each of which has to be in the dictionary.
var triggers = map[string]string{
	"000": "on_session_start on_session_end pre_turn memory.pre_turn_context pre_llm_call post_llm_call on_llm_error pre_tool_call ApprovalHook " +
		"ToolDispatcher post_tool_call pre_compaction post_compaction post_turn on_turn_error AgentEvent Continue Transform Reject Replace RetryDecision",
	"001": "turn.pre_policy turn.pre_prompt_context turn.post_preflight_prompt_context turn.pre_tool_materialization turn.pre_prompt_compile " +
		"turn.post_prompt_compile turn.post_turn turn.pre_compaction contribute_policy contribute_prompt_context contribute_prompt_section " +
		"contribute_tool_bundle contribute_prompt_manifest_diagnostic emit_audit schedule_background_job Noop",
	"002": "ApplyContextConfig BeforeExecution AppendSkillMetadata BeforeStep AfterStep BeforeInferenceRequest AfterInferenceResponse BeforeToolUse " +
		"AfterToolUse UseSummarization OnStop AfterExecution OnError SubagentSpawning SubagentCompleted wiretap/onEvent AgentStopException",
	"003": "PreToolUse PostToolUse PermissionRequest OnConfirmation GenerateStart GenerateEnd SessionStart SessionEnd SkillLoad SkillUnload PrePrompt " +
		"PostResponse OnError OnSuccess OnRateLimit PreCompact PostCompact PreContextPerception PostContextPerception PreMemoryRecall PostMemoryRecall " +
		"PrePlanning PostPlanning PreReasoning PostReasoning IntentDetection PreRunControl PostRunControl Continue Block Retry Skip Escalate",
	"004": "on_build_agent on_register_agent on_unregister_agent on_resolve_agent on_forget_agent preprocess on_before_run scoped_tools scoped_schema " +
		"schema system_prompt usage dispatch on_event Done",
	"Claude Code": "PreToolUse PostToolUse PostToolUseFailure PostToolBatch Notification UserPromptSubmit UserPromptExpansion SessionStart SessionEnd Stop " +
		"StopFailure SubagentStart SubagentStop PreCompact PostCompact PreModelSwitch PostModelSwitch PermissionRequest PermissionDenied Setup TeammateIdle " +
		"TaskCreated TaskCompleted Elicitation ElicitationResult ConfigChange WorktreeCreate WorktreeRemove InstructionsLoaded CwdChanged FileChanged " +
		"DirectoryAdded MessageDisplay allow deny ask defer updatedInput additionalContext",
	"Gemini CLI": "BeforeTool AfterTool BeforeAgent AfterAgent BeforeModel AfterModel BeforeToolSelection SessionStart SessionEnd Notification PreCompress",
	"Cursor": "sessionStart sessionEnd beforeSubmitPrompt preToolUse postToolUse postToolUseFailure beforeShellExecution afterShellExecution " +
		"beforeMCPExecution afterMCPExecution beforeReadFile afterFileEdit subagentStart subagentStop preCompact afterAgentResponse afterAgentThought stop",
	"Copilot CLI": "sessionStart sessionEnd userPromptSubmitted preToolUse postToolUse postToolUseFailure permissionRequest agentStop subagentStart " +
		"subagentStop errorOccurred preCompact notification",
	"crush":        "PreToolUse",
	"docker-agent": "pre_tool_use post_tool_use session_start session_end on_user_input",
}

func TestEveryTriggerIsNamed(t *testing.T) {
	t.Parallel()
	have := map[string][]string{}
	for _, a := range aliases.All() {
		have[a.From] = append(have[a.From], a.Theirs)
	}
	for from, names := range triggers {
		for _, name := range strings.Fields(names) {
			assert.Contains(t, have[from], name, from)
		}
	}
}

func TestOursExist(t *testing.T) {
	t.Parallel()
	known := map[string][]string{}
	for p := range point.All() {
		known["point"] = append(known["point"], p.String())
	}
	source := read(t, "../../hook/decide.go") + read(t, "../../hook/event/event.go")
	for _, m := range regexp.MustCompile(`(?m)^\t\w+ +(Answer|hook\.EventKind) += "(\w*)"`).FindAllStringSubmatch(source, -1) {
		kind := map[string]string{"Answer": "answer", "hook.EventKind": "event"}[m[1]]
		known[kind] = append(known[kind], m[2])
	}
	known["answer"] = append(known["answer"], "none")
	require.Greater(t, len(known["answer"]), 15)
	require.Greater(t, len(known["event"]), 25)
	seen := map[string]bool{}
	for _, a := range aliases.All() {
		require.Contains(t, known, a.Kind, "%+v", a)
		key := a.From + " " + a.Kind + " " + a.Theirs
		assert.False(t, seen[key], "%s is there twice", key)
		seen[key] = true
		for _, ours := range a.Ours {
			assert.True(t, slices.Contains(known[a.Kind], ours), "%s: %q is no %s of package hook", key, ours, a.Kind)
		}
		assert.True(t, len(a.Ours) > 0 || a.Remark != "", "%s: nothing here, and no reason", key)
	}
}

// TestEveryPointHasAnAlias: a point that nobody else has is named here.
func TestEveryPointHasAnAlias(t *testing.T) {
	t.Parallel()
	own := []string{"OnInvalidTool", "OnClose", "WrapTool", "WrapModel"}
	for p := range point.All() {
		found := slices.ContainsFunc(aliases.All(), func(a aliases.Alias) bool { return slices.Contains(a.Ours, p.String()) })
		assert.NotEqual(t, slices.Contains(own, p.String()), found, "%s", p)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]int{"beforeshell": 1, "docker-agent": 5, "no such thing": 0} {
		assert.Len(t, aliases.Find(word), want, word)
	}
	assert.Len(t, aliases.Find(""), len(aliases.All()))
	var b bytes.Buffer
	require.NoError(t, aliases.Text(&b, aliases.Find("on_turn_error")))
	assert.Equal(t, "FROM  KIND   THEIRS         HERE         REMARK\n000   point  on_turn_error  OnTurnError  \n", b.String())
}

func TestPage(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	b.WriteString("# Names from elsewhere\n\nWhat other agents and frameworks call the points and answers of this one; `grapnel plan --aliases [WORD]` prints it.\n" +
		"[lifecycle.md](lifecycle.md) says what each point is for. An alias is no promise that both do the same: it is where to look.\n")
	aliases.Markdown(&b, aliases.All())
	const page = "../../docs/aliases.md"
	if *update {
		require.NoError(t, os.WriteFile(page, b.Bytes(), 0o644))
	}
	assert.Equal(t, read(t, page), b.String(), "run the test with -update")
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}
