package history_test

import (
	"encoding/json"
	"testing"

	"github.com/grapnel-go/grapnel/hook/message"
)

// FuzzRepair reads the input as the JSON of a history, or else as a program: each
// byte adds a message or a block. Programs find what no change of a JSON text
// finds; JSON is what a seed can be read in.
func FuzzRepair(f *testing.F) {
	for _, d := range damages() {
		data, err := json.Marshal(d.in)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("u[ab.1.2a12"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4000 {
			return // more of the same, and the oracle is slow
		}
		var in []message.Message
		if json.Unmarshal(data, &in) != nil {
			in = program(data[:min(len(data), 200)])
		}
		repairs(t, in)
	})
}

// program makes a history of bytes: small alphabets, so that ids meet.
func program(data []byte) []message.Message {
	ids := []string{"", "1", "2", "call_repaired_1", "call_repaired_2", "a:b"}
	tools := []string{"a", "b", "", "a b"}
	args := []string{"{}", "", "[", `{"p":"\ud800"}`, "\xff"}
	var out []message.Message
	var blocks []message.Block
	for i, b := range data {
		id, tool := ids[int(b>>3)%len(ids)], tools[i%len(tools)]
		switch b % 8 {
		case 0:
			out = append(out, user("u"))
		case 1, 2:
			blocks = append(blocks, call(id, tool, args[i%len(args)]))
			continue
		case 3:
			out, blocks = append(out, says(blocks...)), nil
		case 4, 5:
			out = append(out, result(id, tool, "x"))
		case 6:
			out = append(out, cancelled(id, tool))
		default:
			out = append(out, message.Message{Role: message.Role(tools[i%len(tools)]), CallID: id, Content: message.ListOf(blocks...)})
		}
	}
	return append(out, says(blocks...))
}
