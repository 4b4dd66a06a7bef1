package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// Variables by which the test binary, started again, learns that it is a server.
const (
	envMode = "TEST_SERVER_MODE" // which server; none of them is not a server
	envFile = "TEST_SERVER_FILE" // each start appends a line to it
	envList = "TEST_SERVER_LIST" // the file with the list of tools (mode raw)
	envGate = "TEST_SERVER_GATE" // the file that a late server waits for (mode late)
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(envMode); mode != "" {
		os.Exit(serve(mode))
	}
	goleak.VerifyTestMain(m)
}

func serve(mode string) int {
	if path := os.Getenv(envFile); path != "" {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return 4
		}
		fmt.Fprintln(f, os.Getpid())
		f.Close()
	}
	fmt.Fprintln(os.Stderr, "server says hello")
	switch mode {
	case "exit":
		fmt.Fprintln(os.Stderr, "no licence")
		return 3
	case "hang":
		time.Sleep(10 * time.Minute)
	case "late":
		for ; ; time.Sleep(5 * time.Millisecond) {
			if _, err := os.Stat(os.Getenv(envGate)); err == nil {
				return serveTools()
			}
		}
	case "chatty": // leaves more on its error output than anybody wants to see
		for range 20 {
			fmt.Fprintln(os.Stderr, "noise")
		}
		fmt.Fprintf(os.Stderr, "token=%s refused\r\n\n  key sk-%s\n\x1b]52;c;aGk=\a\xff of %s\n", os.Getenv("SERVICE_TOKEN"), strings.Repeat("k", 30), os.Getenv("PLACE"))
		return 3
	case "flood": // a gigabyte without a line's end, and then one
		block := strings.Repeat("x", 1<<20)
		for range 1 << 10 {
			fmt.Fprint(os.Stderr, block)
		}
		fmt.Fprintln(os.Stderr, "\nthe disk is full")
		return 3
	case "raw", "deaf", "garbage":
		return serveRaw(mode)
	case "tools":
		return serveTools()
	case "stubborn": // hears neither the end of its input nor SIGTERM
		signal.Ignore(syscall.SIGTERM)
		serveTools()
		time.Sleep(10 * time.Minute)
	case "parent": // leaves a child behind that holds all pipes
		child := exec.Command("sleep", "60")
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
		if child.Start() != nil {
			return 5
		}
		return serveTools()
	}
	return 6
}

type textInput struct {
	Text  string `json:"text" jsonschema:"what to say"`
	Times int    `json:"times,omitempty" jsonschema:"how often"`
}

func text(s string) (*sdk.CallToolResult, any, error) {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}, nil, nil
}

func serveTools() int {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	yes := &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it again.", Annotations: yes},
		func(_ context.Context, _ *sdk.CallToolRequest, in textInput) (*sdk.CallToolResult, any, error) {
			return text(strings.Repeat(in.Text, max(1, in.Times)))
		})
	type none struct{}
	simple := func(name string, f func(ctx context.Context) (*sdk.CallToolResult, any, error)) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: "Does " + name + "."},
			func(ctx context.Context, _ *sdk.CallToolRequest, _ none) (*sdk.CallToolResult, any, error) {
				return f(ctx)
			})
	}
	simple("fail", func(context.Context) (*sdk.CallToolResult, any, error) {
		return nil, nil, fmt.Errorf("the disk is full")
	})
	simple("die", func(context.Context) (*sdk.CallToolResult, any, error) { os.Exit(9); return nil, nil, nil })
	simple("slow", func(ctx context.Context) (*sdk.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "slow begins")
		select {
		case <-ctx.Done():
			fmt.Fprintln(os.Stderr, "slow was cancelled")
		case <-time.After(30 * time.Second):
		}
		return text("late")
	})
	simple("env", func(context.Context) (*sdk.CallToolResult, any, error) { return text(strings.Join(os.Environ(), "\n")) })
	simple("big", func(context.Context) (*sdk.CallToolResult, any, error) { return text(strings.Repeat("é", 500_000)) })
	simple("bad.name", func(context.Context) (*sdk.CallToolResult, any, error) { return text("never") })
	simple("parts", func(context.Context) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{
			Content: []sdk.Content{
				&sdk.TextContent{Text: `{"n": 9007199254740993}`},
				&sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")},
				&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("wav")},
				&sdk.ResourceLink{URI: "file:///a", Name: "a", MIMEType: "text/plain"},
				&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///b", MIMEType: "text/plain", Text: "bee"}},
				&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///c", Blob: []byte("blob")}},
			},
			StructuredContent: json.RawMessage(`{"n": 9007199254740993}`),
		}, nil, nil
	})
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// serveRaw speaks the protocol by hand, so that it can list what no library
// would. In mode deaf it reads nothing any more once it has listed its tools, in
// mode garbage it answers calls with what is no JSON.
func serveRaw(mode string) int {
	list := []byte(`[{"name":"hello","description":"Says hello.","inputSchema":{"type":"object"}}]`)
	if path := os.Getenv(envList); path != "" {
		list, _ = os.ReadFile(path)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var req struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &req) != nil || req.ID == nil {
			continue
		}
		switch req.Method {
		case "initialize":
			reply(req.ID, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`)
		case "tools/list":
			reply(req.ID, `{"tools":`+string(list)+`}`)
			if mode == "deaf" {
				time.Sleep(10 * time.Minute)
			}
		case "tools/call":
			if mode == "garbage" {
				fmt.Println("{]")
				continue
			}
			reply(req.ID, `{"content":[{"type":"text","text":"hello"}]}`)
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", req.ID)
		}
	}
	return 0
}

func reply(id json.RawMessage, result string) {
	var line strings.Builder
	fmt.Fprintf(&line, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
	fmt.Println(strings.ReplaceAll(line.String(), "\n", " "))
}
