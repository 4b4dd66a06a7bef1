package model

import "go/types"

// DispatchTool is the generated method of a subsystem that dispatches by the number of a tool, so that a composite that has compared
// the name need not have it compared again. The number is the place among the subsystem's tools, in the order that its Rev
// identifies: a composite that counts otherwise does not compile.
const DispatchTool = "DispatchTool"

// numbered tells whether the type of a member declares the method. One that only embeds a subsystem has it too, but may have a Dispatch
// of its own tomorrow, which nobody may go round.
func (m *Model) numbered(out *Member) bool {
	named := namedOf(out.Type)
	if named == nil || out.Nested != nil || len(out.Tools) == 0 {
		return false
	}
	if m.sourceOf(named) != nil {
		return m.toolsOf(named) != nil // the method is to be generated
	}
	found := declaredMethod(named.Origin(), DispatchTool)
	return found != nil && types.Identical(found.Signature(), m.byNumber())
}

// byNumber is the signature of the method: that of Dispatch, with the number in place of the context.
func (m *Model) byNumber() *types.Signature {
	byName := m.Point("Dispatch").Signature
	params := types.NewTuple(types.NewParam(0, nil, "tool", types.Typ[types.Int]), byName.Params().At(1))
	return types.NewSignatureType(nil, nil, nil, params, byName.Results(), false)
}
