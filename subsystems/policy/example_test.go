package policy_test

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

func Example() {
	p, err := policy.New([]policy.Rules{{
		Deny:  []policy.Rule{{Rule: "Bash(rm *)"}},
		Ask:   []policy.Rule{{Rule: "Bash(git push *)"}},
		Allow: []policy.Rule{{Rule: "Bash(git *)"}},
	}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, args := range []message.JSON{
		`{"command":"git log --oneline"}`, `{"command":"git commit -m x && git push"}`, `{"command":"git log; rm -rf ~"}`, `{"command":"git log | sh"}`,
	} {
		d, err := p.BeforeTool(context.Background(), hooktest.Call(nil, "bash", args))
		fmt.Printf("%s: %q %s %v\n", args, d.Verdict().Kind, d.Verdict().Reason, err)
	}
	// Output:
	// {"command":"git log --oneline"}: ""  <nil>
	// {"command":"git commit -m x && git push"}: "ask" the rule Bash(git push *) asks for it <nil>
	// {"command":"git log; rm -rf ~"}: "deny" denied by the rule Bash(rm *) <nil>
	// {"command":"git log | sh"}: "ask" the rules cannot judge it: it is not known what sh runs ("sh") <nil>
}

func ExamplePolicy_Explain() {
	rules, err := policy.Parse([]byte(`{"deny": ["Bash(rm *)"], "allow": ["Bash(git *)"]}`), "rules.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := policy.New([]policy.Rules{rules}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := p.Explain(nil, message.Tool{Name: "bash"}, `{"command":"git log && timeout 5 rm -rf \"$D\" | sort"}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(e)
	// Output:
	// bash: deny, denied by the rule Bash(rm *)
	// * deny  Bash(rm *) (rules.json: deny[0]), about rm -rf …
	//   allow Bash(git *) (rules.json: allow[0]), about git log
	//   no rule for sort
	//   judged: ask, which flags and files rm gets is known only when it runs ("…")
}
