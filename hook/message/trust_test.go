package message_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook/message"
)

func TestWeakest(t *testing.T) {
	t.Parallel()
	const trusted, workspace, external = message.TrustTrusted, message.TrustWorkspace, message.TrustExternal
	assert.Equal(t, trusted, message.Weakest())
	assert.Equal(t, trusted, message.Weakest(trusted))
	assert.Equal(t, workspace, message.Weakest(trusted, workspace, trusted))
	assert.Equal(t, external, message.Weakest(external, trusted))
	assert.Equal(t, external, message.Weakest(""), "no label means untrusted")
	assert.Equal(t, external, message.Weakest(trusted, "Trusted"), "and so does one that is not known")
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	labelled := func(label string, trust message.Trust) message.Message {
		m := message.UserText("x")
		m.Label, m.Trust = label, trust
		return m
	}
	file := message.UserText("see")
	file.Content = file.Content.Append(message.Block{Kind: message.BlockImage, MIME: "image/png", Data: "AA=="})
	for _, c := range []struct {
		m    message.Message
		want message.Trust
	}{
		{message.UserText("x"), message.TrustTrusted},
		{file, message.TrustWorkspace},
		{message.Message{Role: message.RoleAssistant}, message.TrustTrusted},
		{message.Message{Role: message.RoleTool, Result: message.TextResult("x")}, message.TrustExternal},
		{message.Message{Role: message.RoleTool, Result: message.ToolResult{Trust: message.TrustWorkspace}}, message.TrustWorkspace},
		{labelled(message.LabelSummary, ""), message.TrustExternal},
		{labelled(message.LabelSummary, message.TrustWorkspace), message.TrustWorkspace},
		{labelled(message.LabelContext, ""), message.TrustExternal},
		{labelled("skill", message.TrustWorkspace), message.TrustWorkspace},
		{labelled("feedback", message.TrustTrusted), message.TrustTrusted},
	} {
		assert.Equal(t, c.want, c.m.Origin(), "%+v", c.m)
	}
}
