module github.com/grapnel-go/grapnel/runtime/provider/openai/counterpart

go 1.26.0

require (
	github.com/grapnel-go/grapnel v0.0.0
	github.com/openai/openai-go/v3 v3.95.0
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/tidwall/gjson v1.20.0 // indirect
	github.com/tidwall/match v1.2.0 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
)

replace github.com/grapnel-go/grapnel => ../../../..
