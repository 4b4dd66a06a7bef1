package toolbox_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// envServer makes the test binary, started again, a server with 200 tools.
const envServer = "TEST_TOOLBOX_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(envServer) != "" {
		os.Exit(serve())
	}
	goleak.VerifyTestMain(m)
}

// verbs and nouns make 200 tools: "create_invoice", "list_invoices" and so on.
var verbs = []string{"create", "list", "update", "delete", "search", "archive", "export", "import", "approve", "share"}

var nouns = []string{
	"invoice", "customer", "ticket", "branch", "deployment", "calendar event", "contract", "shipment", "employee", "sensor",
	"recipe", "playlist", "translation", "voucher", "backup", "certificate", "firewall rule", "survey", "warehouse", "flight",
}

func serve() int {
	s := sdk.NewServer(&sdk.Implementation{Name: "office", Version: "1"}, nil)
	type input struct {
		ID     string   `json:"id" jsonschema:"which one"`
		Fields []string `json:"fields,omitempty" jsonschema:"the fields that are wanted, all without it"`
		Notify bool     `json:"notify,omitempty" jsonschema:"whether everybody who follows it gets a message"`
	}
	for _, verb := range verbs {
		for i, noun := range nouns {
			sdk.AddTool(s, &sdk.Tool{Name: fmt.Sprintf("%s_%d", verb, i), Description: fmt.Sprintf("Can %s a %s in the system of the office.", verb, noun)},
				func(_ context.Context, _ *sdk.CallToolRequest, in input) (*sdk.CallToolResult, any, error) {
					return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: verb + " " + noun + " " + in.ID}}}, nil, nil
				})
		}
	}
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}
